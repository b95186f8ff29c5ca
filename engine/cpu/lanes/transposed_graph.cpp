#include "cambrian/engine/cpu/lanes/transposed_graph.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/lanes/transposed_kernels.hpp"
#include "cambrian/engine/cpu/lanes/transposed_nodes.hpp"
#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian::cpu {

namespace {

std::size_t index_of(ValueId id) {
    return static_cast<std::size_t>(id);
}

/// Temporary rows that are free, by their first one.
class FreeRows {
  public:
    std::int64_t take(std::int64_t rows) {
        for (auto& [first, length] : free_) {
            if (length < rows) continue;
            const std::int64_t taken = first;
            const std::int64_t left = length - rows;
            free_.erase(taken);
            if (left > 0) free_[taken + rows] = left;
            return taken;
        }
        return std::exchange(end_, end_ + rows);
    }
    void give(std::int64_t first, std::int64_t rows) {
        auto after = free_.lower_bound(first);
        if (after != free_.end() && after->first == first + rows) {
            rows += after->second;
            after = free_.erase(after);
        }
        if (after != free_.begin() && std::prev(after)->first + std::prev(after)->second == first)
            std::prev(after)->second += rows;
        else
            free_[first] = rows;
    }
    [[nodiscard]] std::int64_t end() const { return end_; }

  private:
    std::map<std::int64_t, std::int64_t> free_;
    std::int64_t end_ = 0;
};

void write_words(const Tensor& tensor, Word* words) {
    for (std::size_t i = 0; i < tensor.elements.size(); ++i) {
        const double x = tensor.elements[i];
        words[i] = tensor.type == ValueType::real
                       ? std::bit_cast<Word>(static_cast<float>(x))
                       : std::bit_cast<Word>(static_cast<std::int32_t>(x));
    }
}

}  // namespace

/// Writes the kernels of one graph, node by node.
class TransposedWriter {
  public:
    TransposedWriter(const Graph& graph, const TransposedGraph::Inputs& inputs, Math math)
        : graph_(graph),
          inputs_(inputs),
          math_(math),
          rows_(graph.value_count()),
          last_reader_(graph.value_count(), -1),
          sources_(graph.value_count()),
          direct_output_(graph.value_count(), -1),
          stays_(graph.value_count(), false) {
        result_.inputs_ = graph.inputs().size();
        result_.slots_ = result_.output_slot(graph.outputs().size());
        find_sources();
        find_direct_outputs();
        find_staying_inputs();
    }

    /// False where a node has no kernel, or a value is too large.
    bool write(Profile* profile) {
        profile_ = profile;
        if (has_large_values()) return false;
        for (std::size_t i = 0; i < graph_.inputs().size(); ++i) place_input(i);
        const auto nodes = graph_.nodes();
        for (std::size_t n = 0; n < nodes.size(); ++n) {
            if (nodes[n].op == Op::input) continue;
            if (!write_node(nodes[n])) return false;
            release(static_cast<std::int64_t>(n));
        }
        if (!std::ranges::all_of(graph_.outputs(), [&](ValueId id) { return is_own(id); }))
            return false;
        for (std::size_t i = 0; i < graph_.outputs().size(); ++i) copy_output(i);
        result_.temporaries_ = free_.end();
        return true;
    }

    TransposedGraph finish(MemoryAccount& account) {
        if (constant_words_ > 0) {
            result_.constants_ = Memory(account, constant_words_ * word_bytes);
            auto* const words = reinterpret_cast<Word*>(result_.constants_.data());
            for (const auto& [tensor, first] : constants_) write_words(*tensor, words + first);
        }
        return std::move(result_);
    }

  private:
    [[nodiscard]] bool is_own(ValueId id) const { return graph_.value(id).per_individual; }
    [[nodiscard]] std::int64_t elements(ValueId id) const {
        return graph_.value(id).shape.elements();
    }

    /// Of which computed values the elements of each value are, and which node reads those last.
    void find_sources() {
        const auto nodes = graph_.nodes();
        for (std::size_t n = 0; n < nodes.size(); ++n) {
            const Node& node = nodes[n];
            std::vector<std::size_t>& own = sources_[node.first_result];
            for (const ValueId id : graph_.operands(node)) {
                for (const std::size_t source : sources_[index_of(id)]) {
                    last_reader_[source] = static_cast<std::int64_t>(n);
                    if (moves(node)) own.push_back(source);
                }
            }
            if (!moves(node)) own = {node.first_result};
            // A value may come by several ways, each as often as the last one.
            std::ranges::sort(own);
            own.erase(std::unique(own.begin(), own.end()), own.end());
            for (std::uint32_t r = 1; r < node.result_count; ++r)
                sources_[node.first_result + r] = {node.first_result + r};
        }
        for (const ValueId id : graph_.outputs())
            for (const std::size_t source : sources_[index_of(id)])
                last_reader_[source] = static_cast<std::int64_t>(nodes.size());
    }

    [[nodiscard]] static bool moves(const Node& node) { return only_moves(node.op); }

    /// A value that is an output itself is computed where the output lies.
    void find_direct_outputs() {
        for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
            const Node& node = graph_.producer(graph_.outputs()[i]);
            int& direct = direct_output_[index_of(graph_.outputs()[i])];
            if (direct < 0 && !moves(node) && !is_bound(node.op)) direct = static_cast<int>(i);
        }
    }

    /// Fixed inputs that no op wants as rows.
    void find_staying_inputs() {
        std::vector<bool> enters(graph_.value_count(), false);
        for (const Node& node : graph_.nodes()) {
            const auto operands = graph_.operands(node);
            for (std::size_t i = 0; i < operands.size(); ++i)
                if (!reads_in_place(node.op, i)) enters[index_of(operands[i])] = true;
        }
        for (const ValueId id : graph_.outputs()) enters[index_of(id)] = true;
        for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
            const std::size_t input = index_of(graph_.inputs()[i]);
            stays_[input] = i >= inputs_.first_fixed && !enters[input];
            result_.stays_.push_back(stays_[input]);
        }
    }

    [[nodiscard]] bool has_large_values() const {
        for (std::size_t v = 0; v < stays_.size(); ++v)
            if (!stays_[v] &&
                elements(ValueId{static_cast<std::uint32_t>(v)}) > TransposedGraph::max_elements)
                return true;
        return false;
    }

    void place_input(std::size_t index) {
        const ValueId id = graph_.inputs()[index];
        if (result_.stays(index)) {
            rows_[index_of(id)] = {{result_.input_slot(index), 0, true}};
            return;
        }
        rows_[index_of(id)] =
            consecutive_rows({result_.input_slot(index), 0, !is_own(id)}, elements(id));
    }

    bool write_node(const Node& node) {
        const ValueId result{node.first_result};
        if (node.op == Op::constant) {
            constants_.emplace_back(std::get<ConstantAttribute>(node.attributes).value,
                                    constant_words_);
            rows_[index_of(result)] =
                consecutive_rows({constants_slot, constant_words_, true}, elements(result));
            constant_words_ += elements(result);
            return true;
        }
        std::vector<const ElementRows*> operands;
        for (const ValueId id : graph_.operands(node)) {
            if (reads_in_place(node.op, operands.size()) && !stays_[index_of(id)]) return false;
            operands.push_back(&rows_[index_of(id)]);
        }
        if (moves(node)) {
            rows_[index_of(result)] = moved_rows(graph_, node, operands);
            return true;
        }
        for (std::uint32_t r = 0; r < node.result_count; ++r) {
            const ValueId id{node.first_result + r};
            if (!is_own(id) || elements(id) == 0) return false;
        }
        return write_step(node, operands);
    }

    bool write_step(const Node& node, std::span<const ElementRows* const> operands) {
        std::vector<ElementRows> results;
        for (std::uint32_t r = 0; r < node.result_count; ++r)
            results.push_back(place_result(ValueId{node.first_result + r}));
        std::size_t largest = results.front().size();
        for (const ElementRows* operand : operands) largest = std::max(largest, operand->size());
        result_.elements_ += static_cast<std::int64_t>(largest);
        std::unique_ptr<Kernel> kernel =
            make_transposed_kernel({graph_, node, results, operands, inputs_.strides, math_});
        if (!kernel) return false;
        if (const auto* arranged = dynamic_cast<const ArrangedKernel*>(kernel.get())) {
            if (result_.arranged_ != nullptr) return false;
            result_.arranged_ = arranged;
        }
        if (profile_ != nullptr) kernel = profile_->timed(std::move(kernel), graph_, node, true);
        result_.kernels_.push_back(std::move(kernel));
        for (std::uint32_t r = 0; r < node.result_count; ++r)
            rows_[node.first_result + r] = std::move(results[r]);
        return true;
    }

    ElementRows place_result(ValueId id) {
        if (const int output = direct_output_[index_of(id)]; output >= 0)
            return consecutive_rows(
                {result_.output_slot(static_cast<std::size_t>(output)), 0, false}, elements(id));
        const std::int64_t first = free_.take(elements(id));
        taken_.push_back({index_of(id), first});
        return consecutive_rows({arena_slot, first, false}, elements(id));
    }

    /// Gives back the rows that node n was the last to read, after its own result got others.
    void release(std::int64_t n) {
        std::erase_if(taken_, [&](const Taken& taken) {
            if (last_reader_[taken.value] > n) return false;
            free_.give(taken.first, elements(ValueId{static_cast<std::uint32_t>(taken.value)}));
            return true;
        });
    }

    void copy_output(std::size_t index) {
        const ValueId id = graph_.outputs()[index];
        if (direct_output_[index_of(id)] == static_cast<int>(index)) return;
        const ElementRows to =
            consecutive_rows({result_.output_slot(index), 0, false}, elements(id));
        result_.kernels_.push_back(
            make_transposed_elementwise(copy_rows(), to, std::span(&rows_[index_of(id)], 1)));
    }

    struct Taken {
        std::size_t value;
        std::int64_t first;
    };

    const Graph& graph_;
    TransposedGraph::Inputs inputs_;
    Math math_;
    Profile* profile_ = nullptr;
    TransposedGraph result_;
    std::vector<ElementRows> rows_;          ///< Of every value.
    std::vector<std::int64_t> last_reader_;  ///< Node index, of computed values.
    std::vector<std::vector<std::size_t>> sources_;
    std::vector<int> direct_output_;  ///< Of values: the output they are computed in, or -1.
    std::vector<bool> stays_;         ///< Of values: inputs that are read where they lie outside.
    FreeRows free_;
    std::vector<Taken> taken_;
    std::vector<std::pair<std::shared_ptr<const Tensor>, std::int64_t>> constants_;
    std::int64_t constant_words_ = 0;
};

std::optional<TransposedGraph> TransposedGraph::make(const Graph& graph, const Inputs& inputs,
                                                     Math math, MemoryAccount& account,
                                                     Profile* profile) {
    TransposedWriter writer(graph, inputs, math);
    if (!writer.write(profile)) return std::nullopt;
    return writer.finish(account);
}

}  // namespace cambrian::cpu
