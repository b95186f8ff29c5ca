#include "cambrian/engine/cpu/fused/code.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/fused/places.hpp"
#include "cambrian/engine/cpu/kernels/rows.hpp"

namespace cambrian::cpu {

namespace {

template <class Element, void (*function)(const Element*, std::int64_t, std::int64_t, std::int64_t,
                                          Element*, bool)>
void fold(const Word* x, std::int64_t stride, std::int64_t rows, std::int64_t width, Word* folded,
          bool starts) {
    function(reinterpret_cast<const Element*>(x), stride, rows, width,
             reinterpret_cast<Element*>(folded), starts);
}

BlockFold fold_of(Op op, ValueType type) {
    const bool real = type == ValueType::real;
    if (op == Op::reduce_sum) return real ? fold<float, fold_sum> : fold<std::int32_t, fold_sum>;
    return real ? fold<float, fold_max> : fold<std::int32_t, fold_max>;
}

std::uint32_t literal_bits(const Tensor& tensor) {
    CAMBRIAN_ASSERT(tensor.elements.size() == 1);
    const double value = tensor.elements[0];
    return tensor.type == ValueType::real
               ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
               : static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
}

/// Writes the loops of one chain.
class Writer {
  public:
    Writer(const Graph& body, const FusedAxes& axes, bool reduces)
        : body_(body),
          axes_(axes),
          passes_(body, axes),
          code_{.reduces = reduces},
          places_(code_, axes),
          place_of_(body.value_count(), -1) {}

    FusedCode code() {
        code_.phases.resize(static_cast<std::size_t>(passes_.passes));
        place_result();
        for (int pass = 0; pass < passes_.passes; ++pass) {
            phase_ = &code_.phases[static_cast<std::size_t>(pass)];
            write_words(pass);
            write_blocks(pass);
        }
        write_result();
        return std::move(code_);
    }

  private:
    [[nodiscard]] Level level(std::size_t value) const {
        return passes_.level[passes_.root[value]];
    }

    /// The place of an operand: inputs and literals get theirs when they are first read.
    int operand(ValueId id) {
        const std::size_t value = passes_.root[static_cast<std::size_t>(id)];
        int& place = place_of_[value];
        if (place >= 0) return place;
        const Node& node = body_.producer(ValueId{static_cast<std::uint32_t>(value)});
        if (node.op == Op::constant) {
            const auto& tensor = *std::get<ConstantAttribute>(node.attributes).value;
            return place = places_.add_literal(literal_bits(tensor));
        }
        CAMBRIAN_ASSERT(node.op == Op::input);
        const std::size_t view = passes_.view[value];
        if (level(value) != Level::row) return place = places_.view(view);
        place = places_.add_words(Level::row);
        code_.loads.push_back({view, static_cast<std::uint16_t>(place)});
        return place;
    }

    /// The words or the kept rows of a value that is computed, or a panel or block for one phase.
    int result_place(std::size_t value) {
        int& place = place_of_[value];
        if (place >= 0) return place;
        if (level(value) != Level::full) return place = places_.add_words(level(value));
        if (!passes_.kept[value])
            return place = passes_.folded[value] ? places_.take_panel() : places_.take_block();
        const int result = places_.view(0);
        if (!result_holds_kept_ && axes_.level(0) == Level::full) {
            result_holds_kept_ = true;
            return place = result;
        }
        return place = places_.add_rows();
    }

    /// A loop of a lifted function, or by a code, along rows, along the words of rows or for one
    /// word.
    FusedLoop loop(const LoopSet* rows, int result, std::span<const int> operands) {
        const Level along = places_[result].level;
        FusedLoop loop;
        loop.views = static_cast<std::uint8_t>(operands.size() + 1);
        loop.places[0] = static_cast<std::uint16_t>(result);
        loop.strides[0] = along == Level::one ? 1 : places_.stride(result, along);
        loop.whole = code_.block_rows == 1 || places_.is_whole(result);
        for (std::size_t i = 0; i < operands.size(); ++i) {
            loop.places[i + 1] = static_cast<std::uint16_t>(operands[i]);
            loop.strides[i + 1] = places_.stride(operands[i], along);
            loop.whole = loop.whole && (code_.block_rows == 1 || places_.is_whole(operands[i]));
        }
        if (rows != nullptr) loop.row = pick_loop(*rows, loop.strides, operands.size());
        return loop;
    }

    void write_node(const Node& node, std::vector<FusedLoop>& loops) {
        std::array<int, Nest::max_views> places{};
        std::size_t count = 0;
        for (const ValueId id : body_.operands(node)) places[count++] = operand(id);
        const int result = result_place(node.first_result);
        CAMBRIAN_ASSERT(is_elementwise(node.op));
        loops.push_back(loop(rows_of(body_, node), result, std::span(places).first(count)));
        loops.back().set = activation_set(node.op);
    }

    /// The node of this pass whose full result only `node` reads, once, and that one loop can
    /// compute with it; or null.
    const Node* inner_of(const Node& node) const {
        const auto ids = body_.operands(node);
        for (std::size_t i = 0; i < ids.size() && ids.size() == 2; ++i) {
            const auto value = static_cast<std::size_t>(ids[i]);
            const Node& inner = body_.producer(ids[i]);
            if (passes_.root[value] == value && readers_[value] == 1 && place_of_[value] < 0 &&
                level(value) == Level::full && is_real(inner) && is_real(node) &&
                !passes_.kept[value] && FusedPasses::is_loop(inner) && !passes_.folded[value] &&
                pair_rows(node.op, inner.op, i == 1) != nullptr)
                return &inner;
        }
        return nullptr;
    }

    [[nodiscard]] bool is_real(const Node& node) const {
        return body_.value(ValueId{node.first_result}).type == ValueType::real;
    }

    void write_pair(const Node& node, const Node& inner) {
        const bool second = body_.operands(node)[0] != ValueId{inner.first_result};
        const std::array places{operand(body_.operands(inner)[0]),
                                operand(body_.operands(inner)[1]),
                                operand(body_.operands(node)[second ? 0 : 1])};
        const int result = result_place(node.first_result);
        phase_->blocks.push_back(loop(pair_rows(node.op, inner.op, second), result, places));
    }

    void write_words(int pass) {
        for (const Node& node : body_.nodes()) {
            const std::uint32_t value = node.first_result;
            const bool is_own = FusedPasses::is_loop(node) && passes_.root[value] == value;
            if (!is_own || level(value) == Level::full) continue;
            if (level(value) == Level::one && pass == 0) write_node(node, code_.once);
            if (level(value) == Level::row && passes_.ready[value] == pass)
                write_node(node, phase_->words);
        }
    }

    void write_fold(const Node& node) {
        int x = operand(body_.operands(node)[0]);
        const FusedPlace at = places_[x];
        const bool uneven =
            at.kind == FusedPlace::Kind::view &&
            (!axes_.even() || axes_.column_stride(static_cast<std::size_t>(at.index)) != 1);
        if (at.level != Level::full || uneven) {
            const int panel = places_.take_panel();
            phase_->blocks.push_back(loop(&copy_rows(), panel, std::span(&x, 1)));
            x = panel;
        }
        FusedLoop fold;
        fold.fold = fold_of(node.op, body_.value(body_.operands(node)[0]).type);
        fold.places = {static_cast<std::uint16_t>(result_place(node.first_result)),
                       static_cast<std::uint16_t>(x)};
        fold.views = 2;
        phase_->folds.push_back(fold);
    }

    /// A node and the one before it that its loop computes too, or null.
    struct Entry {
        const Node* node;
        const Node* inner;
    };

    std::vector<Entry> entries_of(int pass) {
        const std::vector<const Node*> nodes = passes_.nodes_of(body_, pass);
        readers_.assign(body_.value_count(), 0);
        for (const Node* node : nodes)
            for_each_operand({node, nullptr}, [&](std::size_t value) { ++readers_[value]; });
        ++readers_[result()];
        std::vector<bool> joined(body_.value_count(), false);
        std::vector<Entry> entries;
        for (std::size_t i = nodes.size(); i-- > 0;) {
            if (joined[nodes[i]->first_result]) continue;
            const Node* const inner =
                FusedPasses::is_loop(*nodes[i]) ? inner_of(*nodes[i]) : nullptr;
            if (inner != nullptr) joined[inner->first_result] = true;
            entries.push_back({nodes[i], inner});
        }
        std::ranges::reverse(entries);
        return entries;
    }

    template <class Visit>
    void for_each_operand(const Entry& entry, Visit visit) const {
        for (const Node* node : {entry.inner, entry.node}) {
            if (node == nullptr) continue;
            for (const ValueId id : body_.operands(*node))
                visit(passes_.root[static_cast<std::size_t>(id)]);
        }
    }

    /// Full values of a pass and its folds; a block is free after its last reader.
    void write_blocks(int pass) {
        const std::vector<Entry> entries = entries_of(pass);
        std::vector<std::size_t> last(body_.value_count(), 0);
        for (std::size_t i = 0; i < entries.size(); ++i)
            for_each_operand(entries[i], [&](std::size_t value) { last[value] = i; });
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const auto& [node, inner] = entries[i];
            if (!FusedPasses::is_loop(*node))
                write_fold(*node);
            else if (inner != nullptr)
                write_pair(*node, *inner);
            else
                write_node(*node, phase_->blocks);
            for_each_operand(entries[i], [&](std::size_t value) { release(value, last, i); });
        }
        places_.end_phase();
        for (int& place : place_of_)
            if (place >= 0 && is_of_phase(places_[place])) place = -1;
    }

    static bool is_of_phase(const FusedPlace& place) {
        return place.kind == FusedPlace::Kind::block || place.kind == FusedPlace::Kind::panel;
    }

    void release(std::size_t value, std::vector<std::size_t>& last, std::size_t now) {
        const int place = place_of_[value];
        if (last[value] != now || place < 0 || places_[place].kind != FusedPlace::Kind::block)
            return;
        places_.release_block(place);
        last[value] = body_.value_count();  // Once, where a node reads it twice.
    }

    /// A full result that a loop computes is written where it belongs.
    void place_result() {
        const std::size_t value = result();
        const Node& node = body_.producer(ValueId{static_cast<std::uint32_t>(value)});
        if (FusedPasses::is_loop(node) && level(value) == Level::full &&
            axes_.level(0) == Level::full)
            place_of_[value] = places_.view(0);
        result_holds_kept_ = passes_.kept[value];
    }

    void write_result() {
        const int place = operand_or_result(result());
        if (axes_.level(0) == Level::full) {
            const int target = places_.view(0);
            if (place != target)
                phase_->blocks.push_back(loop(&copy_rows(), target, std::span(&place, 1)));
        } else {
            code_.stored = place;
        }
    }

    int operand_or_result(std::size_t value) {
        return place_of_[value] >= 0 ? place_of_[value]
                                     : operand(ValueId{static_cast<std::uint32_t>(value)});
    }

    [[nodiscard]] std::size_t result() const {
        return passes_.root[static_cast<std::size_t>(body_.outputs()[0])];
    }

    const Graph& body_;
    const FusedAxes& axes_;
    FusedPasses passes_;
    FusedCode code_;
    FusedPlaces places_;
    FusedCode::Phase* phase_ = nullptr;
    std::vector<int> place_of_;  ///< Of the root of each value, or -1.
    std::vector<int> readers_;   ///< Of each value, in the current pass.
    bool result_holds_kept_ = false;
};

}  // namespace

FusedExtent fused_extent(const Graph& body) {
    for (const Node& node : body.nodes())
        if (is_fold(node.op)) return {body.value(body.operands(node)[0]).shape, true};
    return {body.value(body.outputs()[0]).shape, false};
}

FusedCode fused_code(const Graph& body, const FusedAxes& axes, bool reduces) {
    return Writer(body, axes, reduces).code();
}

}  // namespace cambrian::cpu
