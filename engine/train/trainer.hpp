#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/network/observe/observer.hpp"
#include "cambrian/engine/train/source.hpp"
#include "cambrian/engine/train/training_settings.hpp"

namespace cambrian {

/// One pass over samples. A loss that is not a number stays one.
struct Score {
    double loss = 0.0;
    double accuracy = 0.0;  ///< Share of right answers; 0 for a loss without any.
};

/// How near a slot came to its targets in an epoch: means over the steps.
struct SlotAim {
    int slot = 0;
    double budget = 0.0;  ///< (1 + cosine of what it gives and its target) / 2.
    double gap = 0.0;     ///< Root mean square of the difference.
};

/// What an epoch did to one individual.
struct EpochScore {
    Score train;  ///< Over the steps, with the weights of each.
    std::optional<Score> validation;
    /// The loss that early stop, plateau and the best epoch go by: of validation, or else of
    /// training, which is measured after the steps where the epoch has but one or the start was
    /// given, whose loss it is compared with.
    double watched = 0.0;
    double learning_rate = 0.0;   ///< Of the last step.
    std::int64_t skipped = 0;     ///< Steps left out since their gradient was not finite.
    bool best = false;            ///< The watched loss is the lowest so far.
    bool stopped = false;         ///< It learns no more.
    std::vector<SlotAim> aims{};  ///< Of aiming_slots(), with a method of targets.
};
struct EpochReport {
    std::int64_t epoch = 0;  ///< Counted from 1.
    std::vector<EpochScore> individuals;
};

/// Of the data.
enum class Part : std::uint8_t { train, validation, test };
[[nodiscard]] std::string_view name(Part part);

/// Which weights: those of now, or of the epoch with the lowest watched loss (of validation, or
/// else of training), which without any epoch, or with none better than a given one, is the start.
enum class Snapshot : std::uint8_t { now, best };

/// Trains a network, or a population of networks of one structure in one program, by gradient or
/// by targets of their slots. What becomes of an individual depends neither on the others nor on
/// threads. Data, weights and moments stay on the device; an epoch uploads its order and brings
/// home sums.
class Trainer {
  public:
    /// Compiles what epochs run, and uploads their data; weights are drawn where none are given.
    /// Backend and data must outlive it. Throws ConfigError for settings and ShapeError for data
    /// that do not fit, DeviceError when memory is short.
    Trainer(Backend& backend, const Network& network, const DataSet& data,
            TrainingSettings settings);
    ~Trainer();
    Trainer(Trainer&&) noexcept;
    Trainer& operator=(Trainer&&) noexcept;

    [[nodiscard]] std::int64_t individuals() const;
    [[nodiscard]] std::int64_t epochs_done() const;
    /// Whether all epochs are done or every individual has stopped.
    [[nodiscard]] bool finished() const;
    /// The next epoch. A step is skipped, and counted, when a gradient is not finite. `go_on` is
    /// asked before every step; once it says no there is no report, and the next call goes on with
    /// that step. The first call tries a batch of each evaluation, so that one for which memory is
    /// short fails before any step; one that fails later leaves an epoch that has not ended.
    std::optional<EpochReport> run_epoch(const std::function<bool()>& go_on = {});
    /// Epochs until the end.
    void run(const std::function<void(const EpochReport&)>& progress = {});
    /// Tells an observer, which must outlive the training, what slots give and which gradients
    /// reach them in every `every`-th step of the training (numbers from 1), before it is taken. A
    /// program of its own computes that: what is learned stays the same in every bit.
    void watch(std::int64_t every, Observer& observer);
    /// All that the next step depends on beside settings, data and structure.
    [[nodiscard]] std::vector<std::byte> state() const;
    /// Goes on where a trainer of the same settings, data and structure was. Throws InputError,
    /// naming `source`, for damaged bytes and for those of another training; then it must not be
    /// used any more.
    void restore(std::span<const std::byte> state, const std::string& source);
    /// Loss and accuracy of every individual on a part of the data that has rows, as it is now or
    /// as it was at its best. What epochs do not evaluate, such as the part to test, is compiled
    /// and uploaded first.
    [[nodiscard]] std::vector<Score> evaluate(Part part, Snapshot snapshot = Snapshot::now);

    [[nodiscard]] std::vector<float> weights(std::int64_t individual,
                                             Snapshot snapshot = Snapshot::now) const;
    /// The lowest watched loss of an individual so far; infinite before there is one.
    [[nodiscard]] double best_loss(std::int64_t individual) const;
    /// The epoch that left Snapshot::best, 0 for the start; nothing after a state of an earlier
    /// version, which does not say, until an epoch is better.
    [[nodiscard]] std::optional<std::int64_t> best_epoch(std::int64_t individual) const;
    /// Bytes that a step takes beside data, weights and moments, or an evaluation if that is more;
    /// without what a watch takes.
    [[nodiscard]] std::int64_t peak_bytes() const;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace cambrian
