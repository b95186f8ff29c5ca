#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/evolve/evaluation/bytecode_batch.hpp"
#include "cambrian/evolve/evaluation/family.hpp"
#include "cambrian/evolve/evaluation/genome_groups.hpp"
#include "cambrian/evolve/evaluation/program_cache.hpp"

namespace cambrian::evolve {

/// A buffer that only grows, geometrically, so that steady work allocates nothing.
class GrowingBuffer {
  public:
    explicit GrowingBuffer(ValueType type) : type_(type) {}
    /// Room for that many elements; what it held is lost when it grows.
    Buffer& hold(Backend& backend, std::int64_t elements);
    [[nodiscard]] Buffer* get() const { return buffer_.get(); }
    [[nodiscard]] ValueType type() const { return type_; }

  private:
    ValueType type_;
    std::unique_ptr<Buffer> buffer_;
};

/// Where the operands of one upload lie on the backend.
struct OperandBuffers {
    GrowingBuffer weights{ValueType::real};
    GrowingBuffer activations{ValueType::integer};
    GrowingBuffer enabled{ValueType::boolean};
};

/// What programs read of each genome, taken apart on the host and put on the backend: weights,
/// activations and enabled flags for graphs, packed weights and bytecodes for the interpreted
/// family. Keeps its storage.
class OperandStage {
  public:
    OperandStage(Backend& backend, Family family, WeightUse use)
        : backend_(backend),
          family_(family),
          use_(use),
          threads_(backend.threads()),
          bytecode_batch_(backend.lockstep() == 1) {}

    /// Takes genomes apart; → one structure each. Valid until the next call.
    /// @param max_words of operands that uploads will bring, unless a single genome has more.
    std::span<const GenomeStructure> read(std::span<const Individual* const> individuals,
                                          std::int64_t max_words);
    /// What the bytecodes of a class need, now and before.
    [[nodiscard]] const BytecodeCapacity& capacity(std::size_t size_class) const {
        return bytecode_batch_.capacity(size_class);
    }
    /// Words of packed weights that all interpreted networks of an upload share: enough for those
    /// read, now and before.
    [[nodiscard]] std::int64_t pool() const { return pool_; }
    /// Words of the operands of one of those read on the backend.
    [[nodiscard]] std::int64_t words(const Individual& individual,
                                     const GenomeStructure& structure) const;

    /// Puts some genomes of those read on the backend, in this order, interpreted ones first. One
    /// that is repeated at once has its weights there once.
    void upload(std::span<const Individual* const> individuals,
                std::span<const std::uint32_t> order, OperandBuffers& buffers);
    /// Appends the operands from the one at a position of that order on.
    /// @param buffers of that upload.
    void bind(std::size_t position, bool interpreted, const OperandBuffers& buffers,
              std::vector<Binding>& bindings) const;

  private:
    /// Where the operands of one network begin.
    struct Place {
        std::int64_t weights = 0;
        std::int64_t activations = 0;
        std::int64_t enabled = 0;
    };
    void place(std::span<const Individual* const> individuals,
               std::span<const std::uint32_t> order);
    void place_graph(const Structure::GraphForm& form);
    /// Of a graph that reads what formats make of weights, else null.
    [[nodiscard]] const PackedWeights* encoded(const Structure& structure) const {
        return use_ == WeightUse::evaluated ? structure.packed() : nullptr;
    }
    [[nodiscard]] std::int64_t floats_of(const Structure& structure) const;
    [[nodiscard]] std::int64_t codes_of(const Structure& structure) const;
    [[nodiscard]] GenomeStructure graph_structure(const Structure& structure) const;
    void upload_graphs(std::span<const Individual* const> individuals,
                       std::span<const std::uint32_t> order, Buffer& buffer);
    void upload_encoded(std::span<const Individual* const> individuals,
                        std::span<const std::uint32_t> order, Buffer& buffer);
    void prefetch_after(std::span<const Individual* const> individuals,
                        std::span<const std::uint32_t> order, std::size_t position) const;
    void upload_bytecodes(std::span<const Individual* const> individuals,
                          std::span<const std::uint32_t> order, Buffer& weights, Buffer& words);
    void write_bytecode(const Individual& individual, std::span<const std::uint32_t> order,
                        std::size_t position, std::span<float> packed,
                        std::span<std::int32_t> bytecodes) const;

    Backend& backend_;
    Family family_;
    WeightUse use_;
    ThreadPool& threads_;
    BytecodeBatch bytecode_batch_;
    std::vector<GenomeStructure> structures_;  ///< Of every individual.
    std::vector<Place> places_;                ///< Of every position of a wave.
    std::size_t bytecodes_ = 0;                ///< Positions of a wave before the first graph.
    std::int64_t pool_ = 0;                    ///< Only grows.
    Place end_of_bytecodes_;
    std::int64_t weight_words_ = 0;          ///< Of a wave.
    std::vector<std::int32_t> activations_;  ///< Of graphs; they lie after the bytecodes.
    std::vector<std::int32_t> enabled_;
    /// Where the backend lends no memory. Only grow: what they held is written over, or lies after
    /// what a bytecode reads.
    std::vector<std::int32_t> bytecode_words_;
    std::vector<float> packed_;
    std::vector<WeightTask> tasks_;  ///< Copies of weights that lie on the backend.
};

}  // namespace cambrian::evolve
