#include <algorithm>

#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/fused/code.hpp"
#include "cambrian/engine/cpu/kernels/rows.hpp"

namespace cambrian::cpu {

namespace {

// Elements of a value that one thread takes at a time.
constexpr std::int64_t part_elements = 32768;

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/// Where the first row of the current tile of a place lies, and the next ones.
struct Address {
    Word* base = nullptr;
    std::int64_t row_stride = 0;
    std::int64_t column_stride = 0;         ///< Words that a block of columns starts further on.
    const std::int64_t* offsets = nullptr;  ///< Of rows that do not lie evenly.
    bool is_block = false;  ///< Rows follow each other, as long as the block is wide.
};

/// Rows of a tile, and columns of them.
struct Block {
    std::int64_t row = 0;
    std::int64_t rows = 0;
    std::int64_t column = 0;
    std::int64_t width = 0;
};

/// Runs loops over blocks of columns of a tile of rows. All intermediate values of a tile lie in
/// the scratch of the part.
class FusedKernel : public Kernel {
  public:
    explicit FusedKernel(const KernelContext& context)
        : FusedKernel(context, *context.attribute<FusedAttribute>().body) {}

    void run(Frame& frame, std::int64_t count) const override {
        const std::int64_t rows = axes_.rows(count);
        const std::int64_t length = axes_.row_length();
        if (rows == 0 || (length == 0 && !code_.reduces)) return;
        const std::int64_t row_parts = (rows + part_rows_ - 1) / part_rows_;
        const std::int64_t column_parts =
            std::max<std::int64_t>(1, rounded_up(length, part_columns_) / part_columns_);
        for_each_part(frame.team, row_parts * column_parts,
                      [&](std::int64_t index, std::byte* scratch) {
                          const std::int64_t row = index / column_parts * part_rows_;
                          const std::int64_t column = index % column_parts * part_columns_;
                          Part part(*this, frame, scratch);
                          part.run(row, std::min(rows, row + part_rows_), column,
                                   std::min(length, column + part_columns_));
                      });
    }

  private:
    FusedKernel(const KernelContext& context, const Graph& body)
        : axes_(context, fused_extent(body).shape, fused_extent(body).reduces),
          code_(fused_code(body, axes_, fused_extent(body).reduces)) {
        refs_.push_back(context.results[0]);
        refs_.insert(refs_.end(), context.operands.begin(), context.operands.end());
        const std::int64_t length = std::max<std::int64_t>(1, axes_.row_length());
        part_columns_ = code_.reduces ? length : std::min(length, part_elements);
        part_rows_ = rounded_up(std::max<std::int64_t>(1, part_elements / length), code_.tile_rows);
        offset_words_ = 2 * rounded_up(code_.tile_rows, 8);
        words_ = static_cast<std::int64_t>(code_.places.size() * sizeof(Address) / sizeof(Word)) +
                 offset_words_ * static_cast<std::int64_t>(code_.places.size() + 1);
        words_ = rounded_up(words_, 16);
        context.owner.part_scratch(words_ + code_.words);
    }

    /// One part of a run on one thread.
    class Part {
      public:
        Part(const FusedKernel& step, const Frame& frame, std::byte* scratch)
            : code_(step.code_), axes_(step.axes_) {
            const std::size_t places = code_.places.size();
            addresses_ = reinterpret_cast<Address*>(scratch);
            auto* const offsets =
                reinterpret_cast<std::int64_t*>(scratch + places * sizeof(Address));
            offset_count_ = step.offset_words_ / 2;
            load_offsets_ = offsets + static_cast<std::int64_t>(places) * offset_count_;
            Word* const words = reinterpret_cast<Word*>(scratch) + step.words_;
            views_ = {step.refs_.data(), step.refs_.size()};
            frame_ = &frame;
            for (std::size_t i = 0; i < places; ++i)
                addresses_[i] = address(code_.places[i], words,
                                        offsets + static_cast<std::int64_t>(i) * offset_count_);
        }

        void run(std::int64_t first, std::int64_t last, std::int64_t from, std::int64_t to) {
            for (const FusedLoop& loop : code_.once) run_words(loop, 1);
            for (std::int64_t row = first; row < last; row += code_.tile_rows)
                run_tile(row, std::min(code_.tile_rows, last - row), from, to);
        }

      private:
        Address address(const FusedPlace& place, Word* words, std::int64_t* offsets) const {
            const auto index = static_cast<std::size_t>(place.index);
            switch (place.kind) {
                case FusedPlace::Kind::literal:
                    // Loops only read their operands.
                    return {
                        reinterpret_cast<Word*>(const_cast<std::uint32_t*>(&code_.literals[index])),
                        0, 0, nullptr, false};
                case FusedPlace::Kind::view: {
                    Word* const base = frame_->at<Word>(views_[index]);
                    const bool even = axes_.even() || place.level == Level::one;
                    return {base, even && place.level != Level::one ? axes_.row_stride(index) : 0,
                            axes_.column_stride(index), even ? nullptr : offsets, false};
                }
                case FusedPlace::Kind::words:
                    return {words + place.index, place.level == Level::row ? 1 : 0, 0, nullptr,
                            false};
                case FusedPlace::Kind::block:
                    return {words + place.index, 0, 0, nullptr, true};
                case FusedPlace::Kind::panel:
                    return {words + place.index, code_.panel_stride, 0, nullptr, false};
                case FusedPlace::Kind::rows:
                    return {words + place.index, axes_.row_length(), 1, nullptr, false};
            }
            return {};
        }

        void run_tile(std::int64_t row, std::int64_t rows, std::int64_t from, std::int64_t to) {
            move_views(row, rows);
            load_words(row, rows);
            for (const FusedCode::Phase& phase : code_.phases) {
                for (const FusedLoop& loop : phase.words) run_words(loop, rows);
                if (phase.blocks.empty() && phase.folds.empty()) continue;
                for (std::int64_t column = from; column < to; column += code_.block_width)
                    run_columns(phase, {0, rows, column, std::min(code_.block_width, to - column)});
            }
            if (code_.stored >= 0) store_words(row, rows);
        }

        void run_columns(const FusedCode::Phase& phase, const Block& columns) {
            Block block = columns;
            for (; block.row < columns.rows; block.row += code_.block_rows) {
                block.rows = std::min(code_.block_rows, columns.rows - block.row);
                for (const FusedLoop& loop : phase.blocks) run_block(loop, block);
            }
            for (const FusedLoop& loop : phase.folds) run_fold(loop, columns);
        }

        void move_views(std::int64_t row, std::int64_t rows) {
            for (std::size_t i = 0; i < code_.places.size(); ++i) {
                const FusedPlace& place = code_.places[i];
                if (place.kind != FusedPlace::Kind::view || place.level == Level::one) continue;
                const auto view = static_cast<std::size_t>(place.index);
                Address& at = addresses_[i];
                if (at.offsets == nullptr)
                    at.base = frame_->at<Word>(views_[view]) + row * at.row_stride;
                else
                    axes_.offsets(view, row, rows, const_cast<std::int64_t*>(at.offsets));
            }
        }

        void load_words(std::int64_t row, std::int64_t rows) {
            for (const FusedLoad& load : code_.loads) {
                axes_.offsets(load.view, row, rows, load_offsets_);
                const Word* const from = frame_->at<Word>(views_[load.view]);
                Word* const to = addresses_[load.place].base;
                for (std::int64_t r = 0; r < rows; ++r) to[r] = from[load_offsets_[r]];
            }
        }

        void store_words(std::int64_t row, std::int64_t rows) {
            const Address& from = addresses_[static_cast<std::size_t>(code_.stored)];
            axes_.offsets(0, row, rows, load_offsets_);
            Word* const to = frame_->at<Word>(views_[0]);
            for (std::int64_t r = 0; r < rows; ++r)
                to[load_offsets_[r]] = from.base[r * from.row_stride];
        }

        void run_words(const FusedLoop& loop, std::int64_t length) {
            Pointers pointers{};
            for (std::size_t view = 0; view < loop.views; ++view)
                pointers[view] = addresses_[loop.places[view]].base;
            if (loop.row != nullptr) return loop.row(pointers, length, loop.strides);
            for (std::int64_t i = 0; i < length; ++i) run_by_code(loop, pointers, i);
        }

        /// One word, each by a code of its own.
        static void run_by_code(const FusedLoop& loop, const Pointers& pointers, std::int64_t i) {
            const auto code = reinterpret_cast<std::int32_t*>(pointers[2])[i * loop.strides[2]];
            activate(known_code(code, loop.set),
                     reinterpret_cast<float*>(pointers[1]) + i * loop.strides[1],
                     reinterpret_cast<float*>(pointers[0]) + i, 1);
        }

        static void run_row(const FusedLoop& loop, const Pointers& pointers, std::int64_t length) {
            if (loop.row != nullptr) return loop.row(pointers, length, loop.strides);
            const std::int32_t code = *reinterpret_cast<std::int32_t*>(pointers[2]);
            activate(known_code(code, loop.set), reinterpret_cast<float*>(pointers[1]),
                     reinterpret_cast<float*>(pointers[0]), length);
        }

        void run_fold(const FusedLoop& loop, const Block& block) {
            const Address& x = addresses_[loop.places[1]];
            loop.fold(x.base + block.column * x.column_stride, x.row_stride, block.rows,
                      block.width, addresses_[loop.places[0]].base, block.column == 0);
        }

        void run_block(const FusedLoop& loop, const Block& block) {
            Pointers pointers{};
            const std::int64_t rows = loop.whole ? 1 : block.rows;
            const std::int64_t length = loop.whole ? block.rows * block.width : block.width;
            for (std::int64_t r = 0; r < rows; ++r) {
                for (std::size_t view = 0; view < loop.views; ++view)
                    pointers[view] = row_of(addresses_[loop.places[view]], block, r);
                run_row(loop, pointers, length);
            }
        }

        /// Where row r of a block lies.
        static Word* row_of(const Address& at, const Block& block, std::int64_t r) {
            if (at.is_block) return at.base + r * block.width;
            Word* const base = at.base + block.column * at.column_stride;
            return base + (at.offsets == nullptr ? (block.row + r) * at.row_stride
                                                 : at.offsets[block.row + r]);
        }

        const FusedCode& code_;
        const FusedAxes& axes_;
        std::span<const BufferView> views_;
        const Frame* frame_ = nullptr;
        Address* addresses_ = nullptr;
        std::int64_t* load_offsets_ = nullptr;
        std::int64_t offset_count_ = 0;
    };

    FusedAxes axes_;
    FusedCode code_;
    std::vector<BufferView> refs_;  ///< Of the views.
    std::int64_t part_rows_ = 1;
    std::int64_t part_columns_ = 1;
    std::int64_t offset_words_ = 0;
    std::int64_t words_ = 0;  ///< Of scratch, before what the code uses.
};

}  // namespace

std::unique_ptr<Kernel> make_fused(const KernelContext& context) {
    return std::make_unique<FusedKernel>(context);
}

}  // namespace cambrian::cpu
