#include "cambrian/gpu/inheritance.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/gpu/vulkan/pipeline.hpp"

namespace cambrian::gpu {

namespace {

constexpr std::uint32_t inherit_threads = 128;
constexpr std::uint32_t similarity_threads = static_cast<std::uint32_t>(similarity_lanes);
/// Elements of a task: enough to hide what its beginning costs, and more where there are many
/// tasks all the same, which the host writes. Whole blocks of random words.
constexpr std::int64_t min_task_elements = 8192;
constexpr std::int64_t max_task_elements = 65536;
constexpr std::int64_t enough_tasks = 16384;
constexpr std::uint32_t noise_bit = 1U << 4U;
constexpr std::uint32_t replace_bit = 1U << 5U;
constexpr unsigned initial_shift = 8;
constexpr std::uint32_t sums_words = 3;

std::uint32_t low_word(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}
std::uint32_t high_word(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32U);
}
/// What the tables have room for.
std::uint32_t word_of(std::int64_t value) {
    CAMBRIAN_EXPECT(value >= 0 && value <= UINT32_MAX);
    return static_cast<std::uint32_t>(value);
}

std::uint32_t way_of(const WeightPiece& piece) {
    return static_cast<std::uint32_t>(piece.source) | (piece.noise ? noise_bit : 0U) |
           (piece.replace ? replace_bit : 0U) |
           static_cast<std::uint32_t>(piece.initial.initial) << initial_shift;
}

bool same_gene(const WeightTask& a, const WeightTask& b) {
    return a.child == b.child && a.piece.whole > 0 && a.piece.whole == b.piece.whole &&
           a.piece.from - a.piece.before == b.piece.from - b.piece.before;
}

}  // namespace

Inheritance::Inheritance(Resources& resources)
    : resources_(resources), recorder_(resources.device) {}

Inheritance::~Inheritance() {
    resources_.device.settle(last_use_);
}

void Inheritance::add_child(const WeightDraws& draws) {
    const auto field = [](const RandomField& of) {
        return FieldRow{low_word(of.key.value), high_word(of.key.value), low_word(of.id),
                        high_word(of.id), of.lane};
    };
    tables_.children.push_back({field(draws.choose), field(draws.noise), field(draws.replace),
                                field(draws.fresh), draws.share, draws.noise_power,
                                draws.replace_rate});
}

DeviceBuffer& Inheritance::used(Buffer& buffer) {
    DeviceBuffer*& known = used_[&buffer];
    if (known == nullptr) {
        known = &dynamic_cast<DeviceBuffer&>(buffer);
    }
    return *known;
}

std::uint64_t Inheritance::address_of(const Binding& binding) {
    return binding.buffer == nullptr ? 0 : used(*binding.buffer).address(binding.first);
}

void Inheritance::compare(const WeightTask& task, std::uint64_t first, std::uint64_t second) {
    if (compared_ != nullptr && same_gene(*compared_, task)) {
        return;
    }
    compared_ = &task;
    const WeightPiece& piece = task.piece;
    const std::int64_t count = piece.whole > 0 ? piece.whole : piece.count;
    const std::uint64_t before = static_cast<std::uint64_t>(piece.before) * word_bytes;
    gene_sums_ = tables_.sums;
    gene_chunks_ = 0;
    for (std::int64_t start = 0; start < count; start += similarity_chunk) {
        const std::uint64_t skipped = static_cast<std::uint64_t>(start) * word_bytes;
        tables_.comparisons.push_back({first - before + skipped, second - before + skipped,
                                       word_of(std::min(similarity_chunk, count - start)),
                                       tables_.sums++});
        ++gene_chunks_;
    }
}

void Inheritance::add_task(const WeightTask& task) {
    const WeightPiece& piece = task.piece;
    const bool blend = piece.source == WeightSource::blend;
    DeviceBuffer& target = used(*task.to.buffer);
    target.require_inside(task.to.first, piece.count);
    target.written(task.to.first, piece.count);
    const std::uint64_t to = target.address(task.to.first);
    const std::uint64_t first = address_of(task.first);
    const std::uint64_t second = address_of(task.second);
    if (blend) {
        compare(task, first, second);
    }
    // All tasks but the first of a piece begin with a block of random words.
    for (std::int64_t start = 0; start < piece.count;) {
        const std::int64_t count =
            std::min(piece.count - start, task_elements_ - (piece.to + start) % 4);
        const std::uint64_t skipped = static_cast<std::uint64_t>(start) * word_bytes;
        tables_.tasks.push_back({.to = to + skipped,
                                 .first = first + skipped,
                                 .second = second + skipped,
                                 .count = word_of(count),
                                 .way = way_of(piece),
                                 .number = word_of(piece.to + start),
                                 .child = task.child,
                                 .sums = blend ? gene_sums_ : 0U,
                                 .chunks = blend ? gene_chunks_ : 0U,
                                 .index = word_of(piece.index + start),
                                 .period = word_of(piece.initial.period),
                                 .bound = piece.initial.bound});
        start += count;
    }
}

void Inheritance::hold(Memory& memory, std::size_t words) {
    // Never empty: a dispatch has an address for each table.
    const auto bytes = static_cast<std::int64_t>(std::max<std::size_t>(words, 1) * word_bytes);
    if (memory.bytes() < bytes) {
        memory = Memory();
        memory = Memory(resources_.transfer, bytes + bytes / 4);
    }
}

template <class Row>
void Inheritance::upload(Memory& memory, const std::vector<Row>& table) {
    const std::span words(reinterpret_cast<const std::uint32_t*>(table.data()),
                          table.size() * sizeof(Row) / word_bytes);
    hold(memory, words.size());
    resources_.transfer.upload(memory, words);
}

void Inheritance::fill_tables(std::span<const WeightDraws> children,
                              std::span<const WeightTask> tasks) {
    tables_.tasks.clear();
    tables_.children.clear();
    tables_.comparisons.clear();
    tables_.sums = 0;
    used_.clear();
    compared_ = nullptr;
    for (const WeightDraws& draws : children) {
        add_child(draws);
    }
    std::int64_t elements = 0;
    for (const WeightTask& task : tasks) {
        elements += task.piece.count;
    }
    task_elements_ =
        std::clamp(elements / enough_tasks / 4 * 4, min_task_elements, max_task_elements);
    for (const WeightTask& task : tasks) {
        add_task(task);
    }
}

void Inheritance::run(std::span<const WeightDraws> children, std::span<const WeightTask> tasks) {
    fill_tables(children, tasks);
    if (tables_.tasks.empty()) {
        return;
    }
    resources_.device.wait(last_use_);  // of the recorder and the tables
    upload(tasks_, tables_.tasks);
    upload(children_, tables_.children);
    upload(comparisons_, tables_.comparisons);
    hold(sums_, std::size_t{tables_.sums} * sums_words);
    submit();
    for (Memory* memory : {&tasks_, &children_, &comparisons_, &sums_}) {
        memory->written_by(last_use_);
    }
    for (const auto& [buffer, device_buffer] : used_) {
        device_buffer->written_by(last_use_);
    }
}

void Inheritance::submit() {
    recorder_.begin();
    const std::array sums{
        vulkan::Range{sums_.address(), static_cast<std::uint64_t>(sums_.bytes())}};
    if (!tables_.comparisons.empty()) {
        vulkan::Push push;
        push.address = {comparisons_.address(), sums_.address()};
        recorder_.dispatch(
            static_pipeline(resources_, "similarity", std::array{similarity_threads}), push,
            tables_.comparisons.size(), {}, sums);
    }
    vulkan::Push push;
    push.address = {tasks_.address(), children_.address(), sums_.address()};
    recorder_.dispatch(static_pipeline(resources_, "inherit", std::array{inherit_threads}), push,
                       tables_.tasks.size(), sums, {});
    recorder_.end();
    const VkCommandBuffer commands = recorder_.commands();
    vulkan::Tickets before;
    for (const auto& [buffer, device_buffer] : used_) before.add(device_buffer->memory().uses());
    last_use_ = resources_.transfer.submit({&commands, 1}, before);
}

void Inheritance::release() {
    for (Memory* memory : {&tasks_, &children_, &comparisons_, &sums_}) {
        *memory = Memory();
    }
}

}  // namespace cambrian::gpu
