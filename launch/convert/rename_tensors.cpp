#include "cambrian/launch/convert/rename_tensors.hpp"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/config/nearest.hpp"

namespace cambrian::launch {
namespace {

struct Rule {
    std::string from;
    std::string to;
};

Rule read_rule(const std::string& text) {
    const std::size_t middle = text.find('=');
    if (middle == std::string::npos || text.size() == 1)
        throw ConfigError(
            fmt::format("--rename is {} (it says FROM=TO) write it like fc1=slot.0", text));
    return {text.substr(0, middle), text.substr(middle + 1)};
}

/// The new name, or nothing where the rule does not fit.
std::optional<std::string> renamed(const std::string& name, const Rule& rule) {
    if (rule.from.empty()) return rule.to + "." + name;
    if (name == rule.from) return rule.to;
    if (!name.starts_with(rule.from + ".")) return std::nullopt;
    const std::size_t rest = rule.from.size() + (rule.to.empty() ? 1 : 0);
    return rule.to + name.substr(rest);
}

[[noreturn]] void fits_nothing(const Safetensors& content, const Rule& rule,
                               std::string_view source) {
    std::vector<std::string> names;
    std::string list;
    for (const auto& [name, tensor] : content.tensors) {
        names.push_back(name);
        list += (list.empty() ? "" : ", ") + name;
    }
    const auto near = nearest(rule.from, names);
    throw ConfigError(fmt::format("--rename {}={} fits no tensor ({} has: {}) {}", rule.from,
                                  rule.to, source, list.empty() ? "none" : list,
                                  near
                                      ? fmt::format("did you mean {}?", *near)
                                      : std::string("name one of these, or what is before a dot")));
}

}  // namespace

void rename(Safetensors& content, std::span<const std::string> rules, std::string_view source) {
    for (const std::string& text : rules) {
        const Rule rule = read_rule(text);
        bool fits = false;
        decltype(content.tensors) result;
        for (auto& [name, tensor] : content.tensors) {
            const auto other = renamed(name, rule);
            fits = fits || other;
            const std::string& now = other ? *other : name;
            if (result.contains(now))
                throw ConfigError(fmt::format(
                    "--rename {} gives two tensors of {} the name {} (names tell tensors apart) "
                    "rename the other one first",
                    text, source, now));
            result.emplace(now, tensor);
        }
        if (!fits) fits_nothing(content, rule, source);
        content.tensors = std::move(result);
    }
}

}  // namespace cambrian::launch
