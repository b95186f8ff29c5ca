#include "cambrian/launch/commands/engine_keys.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cambrian/launch/config/config_file.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"

namespace cambrian::launch {

std::pair<std::vector<std::string>, std::vector<std::string>> split_overrides(
    const std::vector<std::string>& overrides) {
    std::pair<std::vector<std::string>, std::vector<std::string>> parts;
    for (const std::string& assignment : overrides)
        (assignment.starts_with("engine.") ? parts.first : parts.second).push_back(assignment);
    return parts;
}

Json engine_section(const std::vector<std::string>& overrides) {
    // A config has a task; this one is never made.
    const ConfigDocument document = document_from(Json{{"task", {{"type", "xor"}}}}, "--set",
                                                  std::filesystem::current_path(), overrides);
    return resolve(document, Schema()).effective->at("engine");
}

}  // namespace cambrian::launch
