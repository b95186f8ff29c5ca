#include "cambrian/evolve/strategy/strategy.hpp"

#include <fmt/format.h>

#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"

namespace cambrian::evolve {

Hash128 digest(const Strategy& strategy) {
    return hash128(strategy.save());
}

std::unique_ptr<Strategy> Strategy::receive(std::span<const Member>, bool) const {
    throw ConfigError(
        "this strategy takes no migrants (it defines no receive()) set islands.count to 1, or "
        "islands.every and islands.extinction_every to 0");
}

void StrategyRegistry::add(std::string name, Factory factory) {
    CAMBRIAN_ASSERT(factory != nullptr);
    const auto [position, added] = factories_.try_emplace(std::move(name), std::move(factory));
    if (!added) {
        throw ConfigError(fmt::format(
            "strategy type \"{}\" is registered twice (the name is taken) choose another name",
            position->first));
    }
}

std::unique_ptr<Strategy> StrategyRegistry::make(std::string_view type,
                                                 const StrategyContext& context) const {
    const auto found = factories_.find(type);
    if (found == factories_.end()) {
        throw ConfigError(fmt::format("strategy.type is \"{}\" (known: {}) {}", type,
                                      joined(names()), nearest_hint(std::string(type), names())));
    }
    return context.islands.count == 1 ? found->second(context)
                                      : make_islands(found->second, context);
}

std::vector<std::string> StrategyRegistry::names() const {
    std::vector<std::string> result;
    for (const auto& entry : factories_) {
        result.push_back(entry.first);
    }
    return result;
}

StrategyRegistry standard_strategies() {
    StrategyRegistry registry;
    registry.add("elite", make_elite_strategy);
    return registry;
}

}  // namespace cambrian::evolve
