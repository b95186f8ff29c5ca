#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cambrian/engine/backend/host_copy.hpp"
#include "cambrian/engine/backend/named_buffers.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/engine/train/targets.hpp"
#include "cambrian/engine/train/trainer.hpp"
#include "cambrian/engine/train/training_graphs.hpp"

namespace cambrian {

/// The programs and buffers of a training. What it draws and writes before steps is in inputs.cpp,
/// epochs are in epoch.cpp, what outlasts them is in state.cpp.
class Trainer::Implementation {
    /// A compiled graph beside the buffers it works on.
    struct Bound {
        std::unique_ptr<Program> program;
        NamedBuffers::Bindings bindings;
    };

    /// Programs that together walk over all rows of some samples: whole batches and a rest.
    struct Walk {
        std::int64_t whole = 0;  ///< Batches of full size.
        std::optional<Bound> full;
        std::optional<Bound> rest;

        [[nodiscard]] std::int64_t batches() const { return whole + (rest ? 1 : 0); }
        [[nodiscard]] const Bound& batch(std::int64_t index) const {
            return index < whole ? *full : *rest;
        }
    };

    /// A compiled observation and the buffers of its statistics.
    struct Watched {
        ObservedGraph observed;
        OutputBuffers statistics;
        Bound bound;
    };

    /// Who is told of which steps, and the programs for batches of so many rows.
    struct Watch {
        std::int64_t every = 0;  ///< 0: never.
        Observer* observer = nullptr;
        std::map<std::int64_t, Watched> programs;
    };

  public:
    Implementation(Backend& backend, const Network& network, const DataSet& data,
                   TrainingSettings settings);

    std::int64_t population() const { return static_cast<std::int64_t>(individuals_.size()); }
    std::int64_t epochs_done() const { return epochs_done_; }
    const TrainingProgress& individual(std::int64_t index) const {
        CAMBRIAN_ASSERT(index >= 0 && index < population());
        return individuals_[static_cast<std::size_t>(index)];
    }
    bool finished() const {
        return epochs_done_ >= settings_.epochs ||
               std::ranges::none_of(individuals_, &TrainingProgress::active);
    }

    void watch(std::int64_t every, Observer& observer) {
        CAMBRIAN_ASSERT(every >= 1);
        watch_.every = every;
        watch_.observer = &observer;
    }
    std::optional<EpochReport> run_epoch(const std::function<bool()>& go_on);
    std::vector<Score> evaluate(Part part, Snapshot snapshot);
    void save(ArchiveWriter& to) const;
    void restore(ArchiveReader& from);

    std::vector<float> weights(std::int64_t index, Snapshot snapshot) const {
        CAMBRIAN_ASSERT(index >= 0 && index < population());
        const std::int64_t count = network_.weight_count();
        std::vector<float> result(static_cast<std::size_t>(count));
        backend_.download(buffers_.at(weights_name(snapshot)), index * count,
                          std::span<float>(result));
        return result;
    }
    std::int64_t peak_bytes() const {
        std::int64_t largest = step_.batch(0).program->peak_bytes(population());
        for (const auto& [of, parts] : evaluations_)
            largest = std::max(largest, parts.batch(0).program->peak_bytes(population()));
        return largest;
    }

  private:
    static std::string_view weights_name(Snapshot snapshot) {
        return snapshot == Snapshot::now ? training_graphs::weights : training_graphs::best_weights;
    }
    const Samples& samples(Part part) const {
        return part == Part::train        ? data_.train
               : part == Part::validation ? data_.validation
                                          : data_.test;
    }

    Bound bound(const Graph& graph) {
        Bound result{backend_.compile(graph), buffers_.bind(graph, population(), {})};
        return result;
    }
    void run(const Bound& bound) {
        bound.program->run(population(), bound.bindings.inputs, bound.bindings.outputs);
    }

    template <class GraphOf>
    Walk walk(Part part, std::int64_t batch, const GraphOf& graph_of) {
        const std::int64_t rows = samples(part).rows();
        Walk result{.whole = rows / batch, .full = {}, .rest = {}};
        if (result.whole > 0) result.full = bound(graph_of(batch));
        if (rows % batch > 0) result.rest = bound(graph_of(rows % batch));
        return result;
    }

    void upload(Part part) {
        buffers_.write(fmt::format("{}.inputs", name(part)), samples(part).inputs);
        buffers_.write(fmt::format("{}.targets", name(part)), samples(part).targets);
    }
    void draw_weights();
    void draw_inverses();
    /// Uploads a key for each individual.
    void write_keys(std::string_view name, std::string_view purpose);
    [[nodiscard]] bool start_is_given() const { return !settings_.initial_weights.empty(); }
    /// Whether the loss of training that is watched is measured after the steps: that of a single
    /// step is of the weights before it, nothing of the ones it made; that of several is of weights
    /// that change, which says little beside that of the start.
    [[nodiscard]] bool measures_train() const {
        return data_.validation.rows() == 0 && (step_.batches() == 1 || start_is_given());
    }
    /// Compiles what epochs evaluate, and what weights are kept by.
    void prepare_evaluations();
    /// Once, on the first batch of each: one for which memory is short fails before any step.
    void try_evaluations();
    /// Makes a given start the best so far.
    void judge_start();
    /// Names of the buffers that outlast an epoch, of the sums of an epoch or an evaluation, and of
    /// those of what these sums lost.
    std::vector<std::string> lasting() const;
    std::vector<std::string> sums(std::string_view of) const;
    std::vector<std::string> lost_sums(std::string_view of) const;
    /// With what it lost.
    std::vector<double> read_sum(std::string_view name) const;
    void restore(ArchiveReader& from, const std::vector<std::string>& names);
    std::vector<Tensor> read_all(std::span<const std::string> names) const;
    void write_order();
    void write_rates();

    /// One number for each individual, or the one that they share.
    void write(std::string_view name, ValueType type, std::vector<double> values) {
        const auto count = static_cast<std::int64_t>(values.size());
        buffers_.write(name, Tensor(type, Shape{count}, std::move(values)));
    }
    void write_shared(std::string_view name, ValueType type, double value) {
        buffers_.write(name, Tensor::scalar(value, type));
    }
    template <class Value>
    std::vector<double> of_each(const Value& value) const {
        std::vector<double> result;
        for (std::size_t i = 0; i < individuals_.size(); ++i)
            result.push_back(static_cast<double>(value(i)));
        return result;
    }

    /// Tells the observer of the step on a batch, where it wants to know.
    void observe(std::int64_t batch);
    Watched& watched(std::int64_t rows);

    template <class GraphOf>
    std::int64_t evaluation_rows(Part part, const GraphOf& graph_of) const;
    const Walk& evaluation(Part part, Snapshot snapshot);
    /// Of its first batches.
    std::vector<Score> measured(const Walk& parts, std::int64_t batches);

    void clear_sums(std::string_view of);
    std::vector<Score> read_scores(std::string_view sums) const;
    std::vector<std::vector<SlotAim>> read_aims() const;
    /// Decides for every individual whether this was its best epoch and whether it goes on.
    void judge(EpochReport& report);

    Backend& backend_;
    const Network network_;
    const DataSet& data_;
    const TrainingSettings settings_;
    NamedBuffers buffers_;
    Walk step_;
    Bound keep_best_;
    std::map<std::pair<Part, Snapshot>, Walk> evaluations_;
    bool tried_evaluations_ = false;
    std::vector<TrainingProgress> individuals_;
    std::int64_t epochs_done_ = 0;
    std::int64_t next_batch_ = 0;  ///< Of the epoch that goes on, after the last one too.
    Watch watch_;
};

}  // namespace cambrian
