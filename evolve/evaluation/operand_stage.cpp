#include "cambrian/evolve/evaluation/operand_stage.hpp"

#include <algorithm>
#include <atomic>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::int64_t min_pool = 1024;
/// Networks that a thread takes at once: a few tens of microseconds.
constexpr std::size_t at_once = 256;

/// Whether a position holds the individual of the one before it.
bool repeats(std::span<const std::uint32_t> order, std::size_t position) {
    return position > 0 && order[position] == order[position - 1];
}

/// What the backend lends, or where it lends nothing, so many values of memory that grows.
template <class Value>
std::span<Value> room_for(std::int64_t words, std::span<Value> lent, std::vector<Value>& own) {
    const auto count = static_cast<std::size_t>(words);
    if (!lent.empty()) return lent;
    if (own.size() < count) {
        own.clear();  // Nothing of it is to be kept.
        own.resize(count + count / 2);
    }
    return std::span(own).first(count);
}

}  // namespace

/// What a graph reads of a network: numbers, and words of codes.
std::int64_t OperandStage::floats_of(const Structure& structure) const {
    const PackedWeights* own = encoded(structure);
    return own != nullptr ? own->floats() : structure.weight_count();
}
std::int64_t OperandStage::codes_of(const Structure& structure) const {
    const PackedWeights* own = encoded(structure);
    return own != nullptr ? own->words() : 0;
}

/// A graph that rounds masters is that of their formats.
GenomeStructure OperandStage::graph_structure(const Structure& structure) const {
    const Hash128& hash = structure.graph().hash;
    if (use_ == WeightUse::evaluated || structure.formats() == nullptr) return {.hash = hash};
    std::vector<std::uint64_t> words{hash.low, hash.high};
    for (const EncodedRange& range : structure.formats()->encoded()) {
        words.push_back(static_cast<std::uint64_t>(range.offset));
        words.push_back(static_cast<std::uint64_t>(range.dtype));
        words.push_back(static_cast<std::uint64_t>(range.scales));
    }
    return {.hash = hash128(std::as_bytes(std::span(words)))};
}

std::span<const GenomeStructure> OperandStage::read(std::span<const Individual* const> individuals,
                                                    std::int64_t max_words) {
    structures_.resize(individuals.size());
    const bool interpreted = family_ == Family::interpreted;
    const auto entries = bytecode_batch_.read(
        interpreted ? individuals : std::span<const Individual* const>{}, threads_);
    std::atomic<std::int64_t> packed = 0;
    const std::size_t parts = (individuals.size() + at_once - 1) / at_once;
    threads_.for_each(static_cast<std::int64_t>(parts), [&](std::int64_t part, int) {
        const std::size_t first = static_cast<std::size_t>(part) * at_once;
        const std::size_t end = std::min(first + at_once, individuals.size());
        std::int64_t words = 0;
        for (std::size_t i = first; i < end; ++i) {
            structures_[i] = interpreted && entries[i]
                                 ? structure_of(*entries[i])
                                 : graph_structure(*individuals[i]->structure);
            words += interpreted && entries[i] ? entries[i]->cost : 0;
        }
        packed += words;
    });
    // Also where no network has weights, or memory room for one: what programs share is never
    // empty.
    if (packed > pool_ || pool_ == 0)
        pool_ = std::max({pool_, std::int64_t{4}, std::min(generous(packed, min_pool), max_words)});
    return structures_;
}

std::int64_t OperandStage::words(const Individual& individual,
                                 const GenomeStructure& structure) const {
    if (structure.size_class == as_graph)
        return floats_of(*individual.structure) + codes_of(*individual.structure) +
               2 * static_cast<std::int64_t>(individual.blueprint().slots.size()) + 8;
    return structure.cost + bytecode_batch_.capacity(structure.size_class).words;
}

void OperandStage::upload(std::span<const Individual* const> individuals,
                          std::span<const std::uint32_t> order, OperandBuffers& buffers) {
    place(individuals, order);
    pool_ = std::max(pool_, end_of_bytecodes_.weights);
    Buffer& weights = buffers.weights.hold(
        backend_, bytecodes_ > 0 ? std::max(pool_, weight_words_) : weight_words_);
    Buffer& words = buffers.activations.hold(
        backend_, end_of_bytecodes_.activations + static_cast<std::int64_t>(activations_.size()));
    if (bytecodes_ > 0) upload_bytecodes(individuals, order, weights, words);
    upload_graphs(individuals, order, weights);
    if (bytecodes_ == order.size()) return;
    backend_.upload(words, end_of_bytecodes_.activations,
                    std::span<const std::int32_t>(activations_));
    backend_.upload(buffers.enabled.hold(backend_, static_cast<std::int64_t>(enabled_.size())), 0,
                    std::span<const std::int32_t>(enabled_));
}

/// Weights that lie on the backend stay there.
void OperandStage::upload_graphs(std::span<const Individual* const> individuals,
                                 std::span<const std::uint32_t> order, Buffer& buffer) {
    tasks_.clear();
    for (std::size_t position = bytecodes_; position < order.size(); ++position) {
        const Individual& individual = *individuals[order[position]];
        const std::int64_t place = places_[position].weights;
        if (encoded(*individual.structure) != nullptr) continue;
        if (individual.row) {
            tasks_.push_back({.piece = {.count = individual.structure->weight_count()},
                              .to = {&buffer, place},
                              .first = individual.row->place(),
                              .second = {}});
        } else {
            backend_.upload(buffer, place, std::span<const float>(individual.weights));
        }
    }
    const WeightDraws none;
    if (!tasks_.empty()) backend_.inherit(std::span(&none, 1), tasks_);
    upload_encoded(individuals, order, buffer);
}

/// Encoded on all threads: codes among what is uploaded of structures, the numbers at once.
void OperandStage::upload_encoded(std::span<const Individual* const> individuals,
                                  std::span<const std::uint32_t> order, Buffer& buffer) {
    std::vector<std::size_t> positions;
    for (std::size_t position = bytecodes_; position < order.size(); ++position)
        if (encoded(*individuals[order[position]]->structure) != nullptr)
            positions.push_back(position);
    std::vector<std::vector<float>> floats(positions.size());
    threads_.for_each(static_cast<std::int64_t>(positions.size()), [&](std::int64_t item, int) {
        const auto i = static_cast<std::size_t>(item);
        const Individual& individual = *individuals[order[positions[i]]];
        CAMBRIAN_ASSERT(individual.on_host());
        const PackedWeights& own = *encoded(*individual.structure);
        const std::int64_t first =
            places_[positions[i]].activations - end_of_bytecodes_.activations + own.first_word();
        floats[i].resize(static_cast<std::size_t>(own.floats()));
        own.pack(
            individual.weights, floats[i],
            std::span(activations_)
                .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(own.words())));
    });
    for (std::size_t i = 0; i < positions.size(); ++i)
        backend_.upload(buffer, places_[positions[i]].weights, std::span<const float>(floats[i]));
}

/// Gives everyone a place and collects what graphs read of structures.
void OperandStage::place(std::span<const Individual* const> individuals,
                         std::span<const std::uint32_t> order) {
    places_.clear();
    activations_.clear();
    enabled_.clear();
    Place next;
    bytecodes_ = 0;
    for (const std::uint32_t index : order) {
        const std::size_t size_class = structures_[index].size_class;
        if (size_class == as_graph) break;
        if (repeats(order, bytecodes_)) next.weights = places_.back().weights;
        places_.push_back(next);
        next.weights += structures_[index].cost;
        next.activations += bytecode_batch_.capacity(size_class).words;
        ++bytecodes_;
    }
    end_of_bytecodes_ = next;
    for (const std::uint32_t index : order.subspan(bytecodes_)) {
        CAMBRIAN_ASSERT(structures_[index].size_class == as_graph);
        next.activations =
            end_of_bytecodes_.activations + static_cast<std::int64_t>(activations_.size());
        next.enabled = static_cast<std::int64_t>(enabled_.size());
        places_.push_back(next);
        next.weights += floats_of(*individuals[index]->structure);
        place_graph(individuals[index]->structure->graph());
        activations_.resize(activations_.size() +
                            static_cast<std::size_t>(codes_of(*individuals[index]->structure)));
    }
    weight_words_ = next.weights;
}

void OperandStage::place_graph(const Structure::GraphForm& form) {
    const auto append = [](std::vector<std::int32_t>& all, const std::vector<std::int32_t>& some) {
        all.insert(all.end(), some.begin(), some.end());
        if (some.empty()) all.push_back(0);
    };
    append(activations_, form.activations);
    append(enabled_, form.enabled);
}

/// Written where the backend takes them from, else here and uploaded.
void OperandStage::upload_bytecodes(std::span<const Individual* const> individuals,
                                    std::span<const std::uint32_t> order, Buffer& weights,
                                    Buffer& words) {
    const std::span<float> lent_weights =
        backend_.reals_to_write(weights, 0, end_of_bytecodes_.weights);
    const std::span<std::int32_t> lent_words =
        backend_.integers_to_write(words, 0, end_of_bytecodes_.activations);
    const std::span<float> packed = room_for(end_of_bytecodes_.weights, lent_weights, packed_);
    const std::span<std::int32_t> bytecodes =
        room_for(end_of_bytecodes_.activations, lent_words, bytecode_words_);
    const std::size_t items = (bytecodes_ + at_once - 1) / at_once;
    threads_.for_each(static_cast<std::int64_t>(items), [&](std::int64_t item, int) {
        const std::size_t first = static_cast<std::size_t>(item) * at_once;
        const std::size_t end = std::min(first + at_once, bytecodes_);
        for (std::size_t i = first; i < end; ++i) {
            prefetch_after(individuals, order.first(end), i);
            write_bytecode(*individuals[order[i]], order, i, packed, bytecodes);
        }
    });
    if (lent_weights.empty()) backend_.upload(weights, 0, std::span<const float>(packed));
    if (lent_words.empty()) backend_.upload(words, 0, std::span<const std::int32_t>(bytecodes));
}

/// What write_bytecode reads soon.
void OperandStage::prefetch_after(std::span<const Individual* const> individuals,
                                  std::span<const std::uint32_t> order,
                                  std::size_t position) const {
    if (position + turns_ahead >= order.size()) return;
    const std::uint32_t soon = order[position + turns_ahead];
    const std::vector<float>& numbers = individuals[soon]->weights;
    prefetch(numbers.data(), numbers.size() * sizeof(float));
    bytecode_batch_.prefetch_words(soon);
    if (position + 2 * turns_ahead >= order.size()) return;
    const std::uint32_t later = order[position + 2 * turns_ahead];
    prefetch(individuals[later], sizeof(Individual));
    bytecode_batch_.prefetch_form(later);
}

void OperandStage::write_bytecode(const Individual& individual,
                                  std::span<const std::uint32_t> order, std::size_t position,
                                  std::span<float> packed,
                                  std::span<std::int32_t> bytecodes) const {
    const std::uint32_t index = order[position];
    const GenomeStructure& structure = structures_[index];
    const Place& place = places_[position];
    const auto words =
        static_cast<std::size_t>(bytecode_batch_.capacity(structure.size_class).words);
    bytecode_batch_.write_bytecode(
        index, place.weights,
        bytecodes.subspan(static_cast<std::size_t>(place.activations), words));
    if (repeats(order, position)) return;
    const std::span<float> own = packed.subspan(static_cast<std::size_t>(place.weights),
                                                static_cast<std::size_t>(structure.cost));
    if (const WeightFormats* formats = individual.structure->formats()) {
        std::vector<float> weights = individual.weights;
        formats->round(weights);
        bytecode_batch_.pack_weights(index, weights, own);
    } else {
        bytecode_batch_.pack_weights(index, individual.weights, own);
    }
}

void OperandStage::bind(std::size_t position, bool interpreted, const OperandBuffers& buffers,
                        std::vector<Binding>& bindings) const {
    const Place& place = places_[position];
    bindings.push_back({buffers.weights.get(), interpreted ? 0 : place.weights});
    bindings.push_back({buffers.activations.get(), place.activations});
    if (!interpreted) bindings.push_back({buffers.enabled.get(), place.enabled});
}

Buffer& GrowingBuffer::hold(Backend& backend, std::int64_t elements) {
    const std::int64_t held = buffer_ ? buffer_->elements() : 0;
    if (buffer_ && held >= elements) return *buffer_;
    buffer_.reset();
    const Backend::Memory memory = backend.memory();
    std::int64_t wanted = std::max(elements, held + held / 2);
    if (memory.limit > 0 && memory.used + wanted * word_bytes > memory.limit) wanted = elements;
    buffer_ = backend.allocate(type_, std::max<std::int64_t>(1, wanted));
    return *buffer_;
}

}  // namespace cambrian::evolve
