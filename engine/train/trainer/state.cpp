#include "cambrian/engine/train/trainer/implementation.hpp"

#include <cmath>

namespace cambrian {
namespace {

using training_graphs::epoch_sums;

}  // namespace

std::vector<std::string> Trainer::Implementation::lasting() const {
    std::vector<std::string> names{std::string(training_graphs::weights),
                                   std::string(training_graphs::best_weights), "step"};
    for (std::size_t i = 0; i < moment_count(settings_.optimizer); ++i)
        names.push_back(fmt::format("moment.{}", i));
    if (!buffers_.contains(training_graphs::inverses)) return names;
    names.emplace_back(training_graphs::inverses);
    for (std::size_t i = 0; i < moment_count(settings_.optimizer); ++i)
        names.push_back(fmt::format("inverse.moment.{}", i));
    return names;
}

std::vector<std::string> Trainer::Implementation::sums(std::string_view of) const {
    std::vector<std::string> names;
    for (const char* what : {"count", "loss", "right", "skipped", "budget", "gap"})
        if (std::string name = fmt::format("{}.{}", of, what); buffers_.contains(name))
            names.push_back(std::move(name));
    return names;
}

std::vector<std::string> Trainer::Implementation::lost_sums(std::string_view of) const {
    std::vector<std::string> names;
    for (const std::string& sum : sums(of)) names.push_back(training_graphs::lost_of(sum));
    return names;
}

std::vector<double> Trainer::Implementation::read_sum(std::string_view name) const {
    std::vector<double> all = buffers_.read(name).elements;
    const std::vector<double> lost = buffers_.read(training_graphs::lost_of(name)).elements;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (std::isfinite(all[i])) all[i] += lost[i];
    return all;
}

std::vector<Tensor> Trainer::Implementation::read_all(std::span<const std::string> names) const {
    std::vector<Tensor> values;
    for (const std::string& name : names) values.push_back(buffers_.read(name));
    return values;
}

void Trainer::Implementation::save(ArchiveWriter& to) const {
    to.write(epochs_done_);
    to.write(next_batch_);
    for (const TrainingProgress& individual : individuals_) individual.save(to);
    std::vector<std::vector<std::string>> parts{lasting()};
    if (next_batch_ > 0) parts.insert(parts.end(), {sums(epoch_sums), lost_sums(epoch_sums)});
    for (const auto& names : parts)
        for (const Tensor& values : read_all(names))
            to.write(std::vector<float>(values.elements.begin(), values.elements.end()));
    // At the end, where states of before have nothing.
    for (const TrainingProgress& individual : individuals_) individual.save_best_epoch(to);
}

void Trainer::Implementation::restore(ArchiveReader& from) {
    from.read(epochs_done_);
    from.read(next_batch_);
    const std::int64_t left = settings_.epochs - epochs_done_;
    if (epochs_done_ < 0 || left < 0 || next_batch_ < 0 || next_batch_ > step_.batches() ||
        (left == 0 && next_batch_ > 0))
        from.fail("it has done another number of steps than the training can");
    // Steps are counted from the start: random numbers depend on it.
    write_shared("pass", ValueType::integer,
                 static_cast<double>(epochs_done_ * step_.batches() + next_batch_));
    for (TrainingProgress& individual : individuals_) individual.restore(from);
    restore(from, lasting());
    if (next_batch_ > 0) {
        clear_sums(epoch_sums);
        restore(from, sums(epoch_sums));
        // Earlier versions did not keep what sums lost.
        if (from.remaining() > 0) restore(from, lost_sums(epoch_sums));
    }
    if (from.remaining() > 0)
        for (TrainingProgress& individual : individuals_)
            individual.restore_best_epoch(from, epochs_done_);
    from.finish();
}

void Trainer::Implementation::restore(ArchiveReader& from, const std::vector<std::string>& names) {
    std::vector<Tensor> all = read_all(names);
    for (std::size_t i = 0; i < all.size(); ++i) {
        std::vector<float> saved;
        from.read(saved);
        if (saved.size() != all[i].elements.size())
            from.fail("its " + names[i] + " are of another size");
        std::ranges::copy(saved, all[i].elements.begin());
    }
    for (std::size_t i = 0; i < all.size(); ++i) buffers_.write(names[i], all[i]);
}

}  // namespace cambrian
