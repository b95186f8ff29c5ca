#include "cambrian/evolve/strategy/strategy.hpp"

#include <fmt/format.h>

#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/guarded.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/evolve/strategy/regulation.hpp"

namespace cambrian::evolve {

Hash128 Strategy::digest() const {
    return hash128(save());
}

std::unique_ptr<Strategy> Strategy::receive(std::span<const Member>, bool) const {
    throw ConfigError(
        "this strategy takes no migrants (it defines no receive()) set islands.count to 1, or "
        "islands.every and islands.extinction_every to 0");
}

std::unique_ptr<Strategy> state_after(const Strategy& strategy,
                                      std::span<const std::byte> decision) {
    return made_by("apply() of the strategy", "it", [&] { return strategy.apply(decision); });
}

std::unique_ptr<Strategy> state_with(const Strategy& strategy, std::span<const Member> immigrants,
                                     bool extinct) {
    return made_by("receive() of the strategy", "it",
                   [&] { return strategy.receive(immigrants, extinct); });
}

std::unique_ptr<Strategy> state_of(const Strategy& strategy, std::span<const std::byte> bytes) {
    return made_by("load() of the strategy", "it", [&] { return strategy.load(bytes); });
}

namespace {

/// A block of a window, so large that few are open.
std::uint64_t smallest_block(std::uint64_t window) {
    std::uint64_t block = (window - 1) / SteadyStateSettings::max_open_blocks + 1;
    while (window % block != 0) {
        ++block;
    }
    return block;
}

void check(const SteadyStateSettings& settings) {
    if (!settings.on()) {
        if (settings.block != SteadyStateSettings{}.block) {
            throw ConfigError(fmt::format(
                "steady_state.block is {} (without steady_state.window there are no blocks) set "
                "steady_state.window, too, or leave it out",
                settings.block));
        }
        return;
    }
    if (settings.block == 0 || settings.window < settings.block) {
        throw ConfigError(
            fmt::format("steady_state.window is {} (steady_state.block is {}: that many births are "
                        "in flight at least) use a window of one block or more, or a smaller block",
                        settings.window, settings.block));
    }
    if (settings.window % settings.block != 0) {
        throw ConfigError(fmt::format(
            "steady_state.window is {} (it is counted in blocks of {} births, "
            "steady_state.block) use {} or {}",
            settings.window, settings.block, settings.window / settings.block * settings.block,
            (settings.window / settings.block + 1) * settings.block));
    }
    if (settings.window / settings.block > SteadyStateSettings::max_open_blocks) {
        throw ConfigError(fmt::format(
            "steady_state.window is {} (in blocks of {} births {} are open at once, {} may be) "
            "set steady_state.block to {} or more",
            settings.window, settings.block, settings.window / settings.block,
            SteadyStateSettings::max_open_blocks, smallest_block(settings.window)));
    }
}

void check_complexity(const StrategyContext& context) {
    if (context.complexity.on() && context.steady_state.on()) {
        throw ConfigError(fmt::format(
            "complexity.ceiling is {} (phases of a search are told by generations, and "
            "steady_state.window is set) set steady_state.window to 0, or leave out the section "
            "complexity",
            context.complexity.ceiling));
    }
}

StrategyRegistry::Factory regulated(const StrategyRegistry::Factory& factory) {
    return [factory](const StrategyContext& context) {
        return make_regulated(factory(context), context.complexity);
    };
}

}  // namespace

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
    check(context.steady_state);
    check_complexity(context);
    const Factory own = [part = fmt::format("strategy \"{}\"", type),
                         make = found->second](const StrategyContext& of) {
        return made_by(part, "its factory", [&] { return make(of); });
    };
    const Factory factory = context.complexity.on() ? regulated(own) : own;
    std::unique_ptr<Strategy> made =
        context.islands.count == 1 ? factory(context) : make_islands(factory, context);
    const SteadyStateSettings& steady = context.steady_state;
    if (made->open() != (steady.on() ? steady.window / steady.block : 1)) {
        throw ConfigError(
            fmt::format("strategy.type \"{}\" has no steady state (it knows generations only) set "
                        "steady_state.window to 0",
                        type));
    }
    return made;
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
    registry.add("age_layers", make_age_layers_strategy);
    registry.add("elite", make_elite_strategy);
    registry.add("species", make_species_strategy);
    return registry;
}

}  // namespace cambrian::evolve
