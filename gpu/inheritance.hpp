#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/gpu/buffer.hpp"
#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/execution/transfer.hpp"
#include "cambrian/gpu/vulkan/recorder.hpp"

namespace cambrian::gpu {

/// Backend::inherit on the device: tables of tasks, and two dispatches whatever the number of
/// children. Keeps its storage.
class Inheritance {
  public:
    explicit Inheritance(Resources& resources);
    ~Inheritance();
    Inheritance(const Inheritance&) = delete;
    Inheritance& operator=(const Inheritance&) = delete;

    void run(std::span<const WeightDraws> children, std::span<const WeightTask> tasks);
    /// Gives tables back.
    void release();

  private:
    // Rows of the tables, as gpu/shaders/weights/inherit.glsl reads them.
    struct TaskRow {
        std::uint64_t to, first, second;
        std::uint32_t count, way, number, child, sums, chunks, index, period;
        float bound;
        std::uint32_t unused = 0;
    };
    static_assert(sizeof(TaskRow) == 64);
    struct FieldRow {
        std::uint32_t key_low, key_high, id_low, id_high, lane;
    };
    struct ChildRow {
        FieldRow choose, noise, replace, fresh;
        float share, noise_power, replace_rate;
        std::uint32_t unused = 0;
    };
    static_assert(sizeof(ChildRow) == 96);
    struct ComparisonRow {
        std::uint64_t first, second;
        std::uint32_t count, sums;
    };
    static_assert(sizeof(ComparisonRow) == 24);

    struct Tables {
        std::vector<TaskRow> tasks;
        std::vector<ChildRow> children;
        std::vector<ComparisonRow> comparisons;
        std::uint32_t sums = 0;
    };
    void fill_tables(std::span<const WeightDraws> children, std::span<const WeightTask> tasks);
    void add_child(const WeightDraws& draws);
    void add_task(const WeightTask& task);
    void compare(const WeightTask& task, std::uint64_t first, std::uint64_t second);
    /// The buffer of a binding, known to be used by this run.
    [[nodiscard]] DeviceBuffer& used(Buffer& buffer);
    [[nodiscard]] std::uint64_t address_of(const Binding& binding);
    void submit();
    template <class Row>
    void upload(Memory& memory, const std::vector<Row>& table);
    void hold(Memory& memory, std::size_t words);

    Resources& resources_;
    vulkan::Recorder recorder_;
    vulkan::Ticket last_use_ = 0;
    Tables tables_;
    std::int64_t task_elements_ = 0;                   ///< The most of a task of this run.
    std::unordered_map<Buffer*, DeviceBuffer*> used_;  ///< By this run: few, of many tasks.
    const WeightTask* compared_ = nullptr;             ///< The last task whose gene was compared.
    std::uint32_t gene_sums_ = 0;  ///< Of that gene: the first, and their number.
    std::uint32_t gene_chunks_ = 0;
    Memory tasks_;
    Memory children_;
    Memory comparisons_;
    Memory sums_;
};

}  // namespace cambrian::gpu
