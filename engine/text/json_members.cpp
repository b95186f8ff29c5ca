#include "cambrian/engine/text/json_members.hpp"

#include <nlohmann/json.hpp>

#include "cambrian/engine/core/json/json_read.hpp"

namespace cambrian {

using nlohmann::json;

JsonMembers::JsonMembers(const json& object, std::string_view path,
                         std::span<const std::string_view> keys)
    : object_(object), path_(path) {
    json_read::object(object, path, keys);
}

std::string JsonMembers::path(std::string_view key) const {
    return json_read::member(path_, key);
}

const json* JsonMembers::held(std::string_view key) const {
    const json* value = json_read::find(object_, key);
    return value == nullptr || value->is_null() ? nullptr : value;
}

const json& JsonMembers::needed(std::string_view key) const {
    const json* value = held(key);
    if (value == nullptr) json_read::fail(path(key), "is not there", "it is needed", "add it");
    return *value;
}

std::string JsonMembers::text(std::string_view key) const {
    return json_read::text(needed(key), path(key));
}

bool JsonMembers::flag(std::string_view key, bool initial) const {
    const json* value = held(key);
    return value == nullptr ? initial : json_read::boolean(*value, path(key));
}

std::int64_t JsonMembers::number(std::string_view key, std::int64_t most) const {
    return json_read::integer(needed(key), path(key), 0, most);
}

void JsonMembers::refuse_unless(bool neutral, std::string_view key, std::string_view why) const {
    if (!neutral)
        json_read::fail(path(key), "is not known here", why,
                        "use a tokenizer without it, or with null there");
}

}  // namespace cambrian
