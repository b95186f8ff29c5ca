#include "cambrian/evolve/variation/hyperneat/substrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve {

namespace {

/// One layer of a config with what an error says of it.
struct Sheet {
    const SubstrateLayer& layer;
    std::string key;
    std::int64_t dimensions = 0;
    double depth = 0.0;                 ///< Along the last axis, unless the config says otherwise.
    std::optional<std::int64_t> nodes;  ///< That the task asks for.
};

std::vector<SubstratePoint> listed(const Sheet& sheet) {
    if (!sheet.layer.shape.empty() || !sheet.layer.from.empty() || !sheet.layer.to.empty()) {
        throw ConfigError(fmt::format(
            "{0}.nodes is given beside {0}.shape, {0}.from or {0}.to (both say where nodes are) "
            "keep one of the two",
            sheet.key));
    }
    std::vector<SubstratePoint> points;
    for (std::size_t i = 0; i < sheet.layer.nodes.size(); ++i) {
        const std::vector<double>& node = sheet.layer.nodes[i];
        if (std::ssize(node) != sheet.dimensions) {
            throw ConfigError(
                fmt::format("{}.nodes[{}] has {} coordinates (genome.substrate.dimensions is {}) "
                            "give as many",
                            sheet.key, i, node.size(), sheet.dimensions));
        }
        SubstratePoint& point = points.emplace_back();
        std::ranges::transform(node, point.begin(),
                               [](double value) { return static_cast<float>(value); });
    }
    return points;
}

/// A corner of the box that nodes fill.
std::vector<double> corner(const Sheet& sheet, const std::vector<double>& given, const char* name,
                           double usual) {
    if (given.empty()) {
        std::vector<double> whole(static_cast<std::size_t>(sheet.dimensions), usual);
        whole.back() = sheet.depth;
        return whole;
    }
    if (std::ssize(given) != sheet.dimensions) {
        throw ConfigError(
            fmt::format("{}.{} has {} coordinates (genome.substrate.dimensions is {}) give as many",
                        sheet.key, name, given.size(), sheet.dimensions));
    }
    return given;
}

std::vector<SubstratePoint> spaced(const Sheet& sheet, std::vector<std::int64_t> shape) {
    if (shape.empty() || std::ssize(shape) > sheet.dimensions) {
        throw ConfigError(fmt::format(
            "{}.shape has {} entries (one for each axis at most, genome.substrate.dimensions is "
            "{}) give 1 to {}, or nodes",
            sheet.key, shape.size(), sheet.dimensions, sheet.dimensions));
    }
    shape.resize(static_cast<std::size_t>(sheet.dimensions), 1);
    std::int64_t count = 1;
    for (const std::int64_t length : shape) {
        count *= length;
        if (count > Substrate::connection_limit) {
            throw ConfigError(
                fmt::format("{}.shape has more than {} nodes (a layer may not be "
                            "larger) give fewer",
                            sheet.key, Substrate::connection_limit));
        }
    }
    const std::vector<double> from = corner(sheet, sheet.layer.from, "from", -1.0);
    const std::vector<double> to = corner(sheet, sheet.layer.to, "to", 1.0);
    std::vector<SubstratePoint> points(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t rest = i;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            const std::int64_t place = rest % shape[axis];
            rest /= shape[axis];
            const double share = shape[axis] == 1 ? 0.5
                                                  : static_cast<double>(place) /
                                                        static_cast<double>(shape[axis] - 1);
            points[static_cast<std::size_t>(i)][axis] =
                static_cast<float>(from[axis] + share * (to[axis] - from[axis]));
        }
    }
    return points;
}

std::vector<SubstratePoint> points_of(const Sheet& sheet) {
    const bool line = sheet.nodes && sheet.layer.nodes.empty() && sheet.layer.shape.empty();
    std::vector<SubstratePoint> points =
        sheet.layer.nodes.empty()
            ? spaced(sheet, line ? std::vector{*sheet.nodes} : sheet.layer.shape)
            : listed(sheet);
    if (sheet.nodes && std::ssize(points) != *sheet.nodes) {
        throw ConfigError(fmt::format("{} has {} nodes (the task has {} of them) give as many",
                                      sheet.key, points.size(), *sheet.nodes));
    }
    std::vector<SubstratePoint> sorted = points;
    std::ranges::sort(sorted);
    if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
        throw ConfigError(fmt::format(
            "{} has two nodes at ({}) (a CPPN cannot tell them apart) move one of them", sheet.key,
            fmt::join(std::span(*twice).first(static_cast<std::size_t>(sheet.dimensions)), ", ")));
    }
    return points;
}

/// Refuses a key that means nothing for the type of substrate.
void refuse(bool given, const char* key, const SubstrateSettings& settings) {
    if (given) {
        throw ConfigError(fmt::format(
            "genome.substrate.{} is set (genome.substrate.type is \"{}\", which does not read it) "
            "leave it out",
            key, substrate_type_names[static_cast<std::size_t>(settings.type)]));
    }
}

}  // namespace

Substrate::Substrate(SubstrateSettings settings, std::int64_t inputs, std::int64_t outputs,
                     bool time)
    : settings_(std::move(settings)) {
    check(time);
    const std::string section = "genome.substrate";
    layers_.push_back(
        points_of({settings_.inputs, section + ".inputs", dimensions(), -1.0, inputs}));
    const auto gaps = static_cast<double>(settings_.hidden.size() + 1);
    for (std::size_t i = 0; i < settings_.hidden.size(); ++i) {
        layers_.push_back(
            points_of({settings_.hidden[i], fmt::format("{}.hidden[{}]", section, i), dimensions(),
                       -1.0 + 2.0 * static_cast<double>(i + 1) / gaps, std::nullopt}));
    }
    layers_.push_back(
        points_of({settings_.outputs, section + ".outputs", dimensions(), 1.0, outputs}));
    check_size();
}

void Substrate::check(bool time) const {
    const bool evolved = settings_.type == SubstrateType::evolved;
    refuse(evolved && !settings_.hidden.empty(), "hidden", settings_);
    refuse(evolved && settings_.links != SubstrateSettings().links, "links", settings_);
    refuse(!evolved && settings_.search != SubstrateSearch(), "search", settings_);
    if (evolved && settings_.dimensions != 2) {
        throw ConfigError(
            "genome.substrate.dimensions is 3 (genome.substrate.type is \"evolved\", which divides "
            "a plane) set it to 2");
    }
    if (settings_.search.initial_depth > settings_.search.maximum_depth) {
        throw ConfigError(fmt::format(
            "genome.substrate.search.initial_depth is {} and maximum_depth {} (these divisions are "
            "always made) raise maximum_depth",
            settings_.search.initial_depth, settings_.search.maximum_depth));
    }
    if (settings_.recurrent && !time) {
        throw ConfigError(
            "genome.substrate.recurrent is true (the task has no time: nothing comes before or "
            "after) set it to false, or give the task time");
    }
    if (!settings_.locality.empty() && !settings_.link_expression) {
        throw ConfigError(
            "genome.substrate.locality is set (genome.substrate.link_expression is false, so that "
            "no output says where connections are) set that to true");
    }
    std::vector<SubstrateAxis> axes = settings_.locality;
    std::ranges::sort(axes);
    if (std::ranges::adjacent_find(axes) != axes.end() ||
        (!axes.empty() && static_cast<std::int64_t>(axes.back()) >= settings_.dimensions)) {
        throw ConfigError(fmt::format(
            "genome.substrate.locality names an axis twice, or one that is not there (genome."
            "substrate.dimensions is {}) name different axes",
            settings_.dimensions));
    }
}

void Substrate::check_size() const {
    if (settings_.type == SubstrateType::evolved) {
        const std::int64_t nodes =
            std::ssize(inputs()) + settings_.search.maximum_nodes + std::ssize(outputs());
        const std::int64_t squares = std::int64_t{1} << (2 * settings_.search.maximum_depth);
        if (nodes * squares > evaluation_limit) {
            throw ConfigError(fmt::format(
                "genome.substrate.search.maximum_depth is {} and maximum_nodes {} (up to {} nodes "
                "would look at {} places each, and {} in all are allowed) lower one of them",
                settings_.search.maximum_depth, settings_.search.maximum_nodes, nodes, squares,
                evaluation_limit));
        }
        return;
    }
    std::int64_t connections = 0;
    for (std::size_t to = 1; to < layers_.size(); ++to) {
        for (std::size_t from = 0; from <= to; ++from) {
            const bool own = from == to && settings_.recurrent && to + 1 < layers_.size();
            if (own || sends(from, to)) {
                connections += std::ssize(layers_[from]) * std::ssize(layers_[to]);
            }
        }
    }
    if (connections > connection_limit) {
        throw ConfigError(fmt::format(
            "genome.substrate has {} possible connections (at most {} are drawn) give its layers "
            "fewer nodes",
            connections, connection_limit));
    }
}

}  // namespace cambrian::evolve
