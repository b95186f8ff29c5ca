#include "cambrian/evolve/variation/graft/graft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/evolve/genome/genome_layout.hpp"

namespace cambrian::evolve {
namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw ConfigError(
        fmt::format("the two cannot be grafted ({}) choose other networks or slots", why));
}

/// Throws ConfigError where a format rounds weights or rows: one that both have in common would
/// round the identities that join them, too.
void require_plain_formats(const Genome& genome, const std::string& which) {
    const Blueprint& blueprint = genome.blueprint;
    const bool plain = std::ranges::all_of(blueprint.slots, [](const std::optional<Slot>& slot) {
        return !slot || slot->formats.is_plain();
    });
    if (!plain || !blueprint.head_formats.is_plain())
        throw ConfigError(fmt::format(
            "the two cannot be grafted ({} has number formats other than float32) bring it to "
            "float32 with 'cambrian quantise' first",
            which));
}

/// Layers with their weights, between rows of two shapes.
struct Piece {
    std::vector<AnyLayer> layers;
    std::vector<float> weights;
    Shape input;
    Shape output;

    [[nodiscard]] AnyLayer layer() const {
        return layers.size() == 1 ? layers.front() : AnyLayer(Sequential{.layers = layers});
    }
    void add(AnyLayer layer, std::vector<float> values) {
        layers.push_back(std::move(layer));
        weights.insert(weights.end(), values.begin(), values.end());
    }
};

/// The weights of a slot, or of the head.
std::vector<float> weights_in(const Network& network, const Genome& genome, int slot) {
    std::vector<float> values;
    for (const WeightRange& range : network.weights()) {
        if (range.slot != slot) continue;
        const auto begin = genome.weights.begin() + range.offset;
        values.insert(values.end(), begin, begin + range.count);
    }
    return values;
}

/// All enabled slots and the head.
Piece whole(const Genome& genome, const std::string& which) {
    const Network network(genome.blueprint);
    const Blueprint& blueprint = network.blueprint();
    if (blueprint.mode == NetworkMode::mesh)
        refuse(which + " is a mesh, whose slots are no chain: name a slot");
    if (!blueprint.links.empty())
        refuse(which + " has links, which a branch cannot have: name a slot");
    Piece piece{.layers = {},
                .weights = {},
                .input = input_row(blueprint),
                .output = network.shape_after(blueprint.grid.slots())};
    bool skipped = false;
    for (int slot = 0; slot < blueprint.grid.slots(); ++slot) {
        const auto& filled = blueprint.slots[static_cast<std::size_t>(slot)];
        if (!filled) continue;
        if (!filled->enabled) {
            skipped = true;
            continue;
        }
        if (skipped && adds_preceding_input(filled->layer))
            refuse(which + " has disabled slots before an empty residual, which looks back");
        piece.add(filled->layer, weights_in(network, genome, slot));
    }
    piece.add(blueprint.head, weights_in(network, genome, blueprint.grid.slots()));
    return piece;
}

/// The layer of one slot.
Piece part(const Genome& genome, int slot, const std::string& which) {
    const Network network(genome.blueprint);
    const Blueprint& blueprint = network.blueprint();
    if (slot < 0 || slot >= blueprint.grid.slots() ||
        !blueprint.slots[static_cast<std::size_t>(slot)])
        refuse(fmt::format("{} has no layer in slot {}", which, slot));
    const AnyLayer& layer = blueprint.slots[static_cast<std::size_t>(slot)]->layer;
    if (adds_preceding_input(layer))
        refuse(
            fmt::format("slot {} of {} is an empty residual, which adds what the layer before "
                        "it read",
                        slot, which));
    Piece piece{.layers = {},
                .weights = {},
                .input = network.shape_before(slot),
                .output = layer.output_shape(network.shape_before(slot))};
    piece.add(layer, weights_in(network, genome, slot));
    return piece;
}

/// gain · I, or as much of it as there is: [out, in].
std::vector<float> scaled_identity(std::int64_t out, std::int64_t in, float gain) {
    std::vector<float> matrix(static_cast<std::size_t>(out * in), 0.0F);
    for (std::int64_t i = 0; i < std::min(out, in); ++i)
        matrix[static_cast<std::size_t>(i * in + i)] = gain;
    return matrix;
}

void require_vectors(const Shape& row, const char* what) {
    if (row.rank() != 1)
        refuse(fmt::format("{} needs vectors, and {} elements lie along {} axes", what,
                           row.elements(), row.rank()));
}

void require_equal(const Shape& a, const Shape& b, const char* what) {
    if (a != b) refuse(fmt::format("{} {} in one and {} in the other", what, a.text(), b.text()));
}

/// A piece that ends in a layer of weights, gain times the identity.
Piece with_gain(Piece piece, std::int64_t width, float gain) {
    require_vectors(piece.output, "a residual graft");
    const std::int64_t in = piece.output[0];
    piece.add(Dense{.in = in, .out = width, .bias = false}, scaled_identity(width, in, gain));
    piece.output = Shape{width};
    return piece;
}

/// Both on the same input.
Piece side_by_side(const Piece& stock, const Piece& scion, GraftCombine combine) {
    require_equal(stock.input, scion.input, "rows that are read have the shape");
    Parallel parallel;
    parallel.branches = {stock.layer(), scion.layer()};
    parallel.combine = graft_combine_names[static_cast<std::size_t>(combine)];
    std::vector<float> weights = stock.weights;
    weights.insert(weights.end(), scion.weights.begin(), scion.weights.end());
    if (combine == GraftCombine::concat) {
        require_vectors(stock.output, "concat");
        require_vectors(scion.output, "concat");
    } else {
        require_equal(stock.output, scion.output, "rows that are given have the shape");
    }
    if (combine == GraftCombine::filter) {
        const std::int64_t in = stock.input.elements();
        parallel.gate.layer.emplace_back(Dense{.in = in, .out = 2});
        weights.resize(weights.size() + static_cast<std::size_t>(2 * in + 2), 0.0F);
    }
    const Shape output =
        combine == GraftCombine::concat ? Shape{stock.output[0] + scion.output[0]} : stock.output;
    return {.layers = {std::move(parallel)},
            .weights = std::move(weights),
            .input = stock.input,
            .output = output};
}

/// Throws ConfigError unless it is a genome; says what does not fit.
Genome checked(Genome genome) {
    try {
        const Network network(genome.blueprint);
        genome.blueprint = network.blueprint();
    } catch (const Error& error) {
        refuse(error.what());
    }
    check(genome);
    return genome;
}

std::string operation(const GraftSettings& settings, const Gene& scion) {
    return fmt::format("{}/{}",
                       settings.residual
                           ? std::string_view("residual_graft")
                           : graft_combine_names[static_cast<std::size_t>(settings.combine)],
                       scion.id.hex());
}

Genome graft_whole(const Genome& stock, const Genome& scion, const GraftSettings& settings) {
    const Piece own = whole(stock, "the first network");
    Piece brought = whole(scion, "the second network");
    const std::int64_t outputs = stock.blueprint.output_features;
    if (scion.blueprint.output_features != outputs)
        refuse(fmt::format("{} outputs in one and {} in the other", outputs,
                           scion.blueprint.output_features));
    if (settings.residual) {
        require_vectors(own.output, "a residual graft");
        brought = with_gain(std::move(brought), outputs, settings.gain);
    }
    const Piece both =
        side_by_side(own, brought, settings.residual ? GraftCombine::add : settings.combine);
    const std::int64_t width = both.output.elements();
    Blueprint blueprint{.input_features = stock.blueprint.input_features,
                        .output_features = outputs,
                        .input_shape = stock.blueprint.input_shape,
                        .grid = one_cell(1),
                        .slots = {},
                        .head = Dense{.in = width, .out = outputs},
                        .links = {}};
    blueprint.slots.resize(static_cast<std::size_t>(blueprint.grid.slots()));
    blueprint.slots.front() = Slot{.layer = both.layer()};
    Genome child = founder_genome(blueprint, 0);
    child.slot_genes.front() = derive_gene(
        child, stock.head_gene.id, operation(settings, scion.head_gene), both.layer().type(), 0);
    child.weights = both.weights;
    const std::vector<float> head = scaled_identity(outputs, width, 1.0F);
    child.weights.insert(child.weights.end(), head.begin(), head.end());
    child.weights.resize(child.weights.size() + static_cast<std::size_t>(outputs), 0.0F);
    child.weight_power = stock.weight_power;
    return checked(std::move(child));
}

/// What takes the place of the stock's layer.
Piece replacement(const Piece& own, Piece brought, const GraftSettings& settings) {
    if (settings.residual) {
        require_vectors(own.output, "a residual graft");
        if (brought.input.elements() != own.output.elements())
            refuse(
                fmt::format("the second network's layer reads {} elements, and the first "
                            "one's gives {}",
                            brought.input.elements(), own.output.elements()));
        brought = with_gain(std::move(brought), own.output[0], settings.gain);
        Piece result = own;
        result.add(Residual{.layers = brought.layers}, brought.weights);
        return result;
    }
    Piece both = side_by_side(own, brought, settings.combine);
    if (settings.combine != GraftCombine::concat) return both;
    const std::int64_t width = own.output[0];
    const std::int64_t wide = both.output[0];
    both.add(Dense{.in = wide, .out = width, .bias = false}, scaled_identity(width, wide, 1.0F));
    both.output = own.output;
    return both;
}

Genome graft_slot(const Genome& stock, const Genome& scion, const GraftSettings& settings) {
    const int at = *settings.at;
    const int from = settings.from.value_or(at);
    const Piece own = part(stock, at, "the first network");
    const Piece brought = part(scion, from, "the second network");
    const Piece both = replacement(own, brought, settings);
    const Network network(stock.blueprint);
    // Slots come before the head and the links, by their index.
    std::int64_t offset = 0;
    std::int64_t replaced = 0;
    for (const WeightRange& range : network.weights()) {
        if (range.slot >= 0 && range.slot < at) offset += range.count;
        if (range.slot == at) replaced += range.count;
    }

    Genome child = stock;
    const auto slot = static_cast<std::size_t>(at);
    child.blueprint.slots[slot]->layer = both.layer();
    child.slot_genes[slot] =
        derive_gene(stock, stock.slot_genes[slot].id,
                    operation(settings, scion.slot_genes[static_cast<std::size_t>(from)]),
                    both.layer().type(), stock.slot_genes[slot].born);
    std::erase_if(child.neuron_genes, [&](const NeuronGenes& genes) { return genes.slot == at; });
    const auto begin = child.weights.begin() + offset;
    const auto place = child.weights.erase(begin, begin + replaced);
    child.weights.insert(place, both.weights.begin(), both.weights.end());
    return checked(std::move(child));
}

}  // namespace

Genome graft(const Genome& stock, const Genome& scion, const GraftSettings& settings) {
    if (settings.from && !settings.at)
        throw ConfigError(
            "a slot of the second network is named (whole networks are grafted) name one of the "
            "first, too");
    require_plain_formats(stock, "the first network");
    require_plain_formats(scion, "the second network");
    return settings.at ? graft_slot(stock, scion, settings) : graft_whole(stock, scion, settings);
}

}  // namespace cambrian::evolve
