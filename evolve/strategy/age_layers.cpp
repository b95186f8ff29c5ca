#include "cambrian/evolve/strategy/age_layers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/evolve/strategy/selection.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::uint32_t age_layers_format = 1;
constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// A member, and the generation in which the oldest founder among its ancestors was born.
struct AgedMember {
    Member member;
    std::uint64_t founded = 0;
};

/// Who lives in a layer, the fittest first, and where its births are.
struct Layer {
    std::uint64_t size = 0;
    std::uint64_t first_position = 0;
    std::uint64_t elites = 0;  ///< Carried over at most.
    std::uint64_t limit = 0;   ///< Ages below it may stay.
    std::vector<AgedMember> members;
};

class AgeLayersStrategy final : public Strategy {
  public:
    explicit AgeLayersStrategy(const StrategyContext& context);

    [[nodiscard]] std::uint64_t generation() const override { return generation_; }
    [[nodiscard]] std::uint64_t births() const override { return size_; }
    [[nodiscard]] BirthId first_birth() const override {
        return generation_ * ids_.stride + ids_.offset;
    }
    [[nodiscard]] std::span<const Member> parent_pool() const override { return pool_; }
    void keep_second_parents(bool keep) override { keeps_second_parents_ = keep; }
    [[nodiscard]] Birth birth(std::uint64_t position) const override;
    [[nodiscard]] bool carries(std::uint64_t position) const override {
        const std::size_t layer = layer_of(position);
        return position - layers_[layer].first_position < layers_[layer].members.size();
    }
    [[nodiscard]] Decision decide(const Scores& scores, ThreadPool& threads) const override;
    [[nodiscard]] std::unique_ptr<Strategy> apply(
        std::span<const std::byte> decision) const override;
    [[nodiscard]] std::unique_ptr<Strategy> receive(std::span<const Member> immigrants,
                                                    bool extinct) const override;
    [[nodiscard]] std::vector<std::byte> save() const override;
    [[nodiscard]] std::unique_ptr<Strategy> load(std::span<const std::byte> bytes) const override;

  private:
    [[nodiscard]] std::size_t layer_of(std::uint64_t position) const;
    /// When the oldest founder among the ancestors of a birth was born.
    [[nodiscard]] std::uint64_t founded(std::uint64_t position) const;
    /// Where one that lives in a layer lives in a generation: there, or above where it is too old.
    [[nodiscard]] std::size_t home(std::size_t layer, std::uint64_t founded,
                                   std::uint64_t generation) const;
    /// Works out the pool and who may be parents in each layer.
    void arrange();
    [[nodiscard]] std::string settings_text() const;

    std::uint64_t seed_;
    std::uint64_t size_;
    float splice_rate_;
    AgeLayerSettings settings_;
    SelectionSettings selection_;
    std::uint32_t island_;
    IdSpace ids_;
    RandomKey select_key_;
    std::uint64_t generation_ = 0;
    bool keeps_second_parents_ = true;
    std::vector<Layer> layers_;
    // Of all layers, one after another.
    std::vector<Member> pool_;
    std::vector<std::uint64_t> founded_;
    std::vector<std::size_t> first_place_;
    std::vector<std::vector<std::uint32_t>> parents_;  // places by layer, the fittest first
};

AgeLayersStrategy::AgeLayersStrategy(const StrategyContext& context)
    : seed_(context.seed),
      size_(context.population.size),
      splice_rate_(context.splice_rate),
      settings_(context.age_layers),
      selection_(context.selection),
      island_(context.island),
      ids_{context.ids.offset, context.ids.stride == 0 ? size_ : context.ids.stride},
      select_key_(random_key(context.seed, "select", context.island)) {
    if (selection_.parent_fraction > 0.0 || selection_.restart_after > 0) {
        throw ConfigError(
            fmt::format("selection.{} is set (strategy.type \"age_layers\" has parents of its own, "
                        "and founders "
                        "every age_layers.gap generations) leave it out",
                        selection_.parent_fraction > 0.0 ? "parent_fraction" : "restart_after"));
    }
    if (size_ / settings_.count < 2) {
        throw ConfigError(
            fmt::format("age_layers.count is {} (of {} individuals a layer has fewer than 2) use "
                        "fewer layers or a larger population",
                        settings_.count, size_));
    }
    const std::vector<std::uint64_t> limits = age_limits(settings_);
    std::uint64_t position = 0;
    for (std::uint64_t i = 0; i < settings_.count; ++i) {
        const std::uint64_t size = size_ * (i + 1) / settings_.count - size_ * i / settings_.count;
        const PopulationSettings own{size, context.population.elite_fraction};
        layers_.push_back({size, position, std::min(elite_count(own), size - 1), limits[i], {}});
        position += size;
    }
    arrange();
}

std::size_t AgeLayersStrategy::layer_of(std::uint64_t position) const {
    const auto after = std::ranges::upper_bound(layers_, position, {}, &Layer::first_position);
    return static_cast<std::size_t>(after - layers_.begin()) - 1;
}

Birth AgeLayersStrategy::birth(std::uint64_t position) const {
    CAMBRIAN_EXPECT(position < size_);
    const BirthId id = first_birth() + position;
    const std::size_t layer = layer_of(position);
    const std::uint64_t nth = position - layers_[layer].first_position;
    if (nth < layers_[layer].members.size()) {
        return {.id = id,
                .recipe = Recipe::carry,
                .parents = {parent_at(pool_, first_place_[layer] + nth)},
                .island = island_};
    }
    const std::span<const std::uint32_t> places = parents_[layer];
    if (places.empty()) {
        return {.id = id, .recipe = Recipe::sample, .parents = {}, .island = island_};
    }
    const SelectedPlaces chosen =
        select_places(places.size(), select_key_, id, splice_rate_, selection_);
    Birth child{.id = id,
                .recipe = Recipe::vary,
                .parents = {parent_at(pool_, places[chosen.first])},
                .island = island_};
    if (chosen.second && keeps_second_parents_) {
        child.parents.push_back(parent_at(pool_, places[*chosen.second]));
    }
    return child;
}

std::uint64_t AgeLayersStrategy::founded(std::uint64_t position) const {
    std::uint64_t first = generation_;
    for (const Parent& parent : birth(position).parents) {
        first = std::min(first, founded_[index_of(parent.place)]);
    }
    return first;
}

std::size_t AgeLayersStrategy::home(std::size_t layer, std::uint64_t founded,
                                    std::uint64_t generation) const {
    while (generation - founded >= layers_[layer].limit) {
        ++layer;
    }
    return layer;
}

Decision AgeLayersStrategy::decide(const Scores& scores, ThreadPool&) const {
    CAMBRIAN_ASSERT(scores.size() == size_);
    std::vector<std::vector<Member>> living(layers_.size());
    for (std::uint64_t position = 0; position < size_; ++position) {
        if (scores.valid(position) && !std::isnan(scores.fitness[position])) {
            living[home(layer_of(position), founded(position), generation_ + 1)].push_back(
                {position, 0, scores.fitness[position]});
        }
    }
    std::vector<Survivor> survivors;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        std::ranges::sort(living[i], fitter);
        living[i].resize(std::min<std::size_t>(living[i].size(), layers_[i].elites));
        for (const Member& member : living[i]) {
            survivors.push_back({static_cast<std::uint32_t>(member.birth), member.fitness});
        }
    }
    return encode_survivors(survivors);
}

std::unique_ptr<Strategy> AgeLayersStrategy::apply(std::span<const std::byte> decision) const {
    auto next = std::make_unique<AgeLayersStrategy>(*this);
    ++next->generation_;
    for (Layer& layer : next->layers_) {
        layer.members.clear();
    }
    for (Survivors survivors(decision, size_, size_, generation_); !survivors.empty();) {
        const Survivor one = survivors.next();
        const BirthId id = first_birth() + one.position;
        const Birth born = birth(one.position);
        const BirthId origin =
            born.recipe == Recipe::carry ? pool_[index_of(born.parents.front().place)].origin : id;
        const std::uint64_t first = founded(one.position);
        Layer& layer = next->layers_[home(layer_of(one.position), first, next->generation_)];
        layer.members.push_back({{id, origin, one.fitness}, first});
        if (layer.members.size() > layer.elites) {
            refuse_state(generation_, "more survive than a layer has room for");
        }
    }
    next->arrange();
    return next;
}

void AgeLayersStrategy::arrange() {
    pool_.clear();
    founded_.clear();
    first_place_.clear();
    parents_.assign(layers_.size(), {});
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        first_place_.push_back(pool_.size());
        for (const AgedMember& one : layers_[i].members) {
            pool_.push_back(one.member);
            founded_.push_back(one.founded);
        }
        // Founders have the lowest layer to themselves in the generation of their birth.
        if (i == 0 && generation_ % settings_.gap == 0) {
            continue;
        }
        const std::size_t first = i == 0 ? 0 : first_place_[i - 1];
        parents_[i].resize(pool_.size() - first);
        std::iota(parents_[i].begin(), parents_[i].end(), static_cast<std::uint32_t>(first));
        std::ranges::sort(parents_[i], [this](std::uint32_t a, std::uint32_t b) {
            return fitter(pool_[a], pool_[b]);
        });
    }
}

/// Nobody knows how old migrants are: they live where all ages do.
std::unique_ptr<Strategy> AgeLayersStrategy::receive(std::span<const Member> immigrants,
                                                     bool extinct) const {
    auto next = std::make_unique<AgeLayersStrategy>(*this);
    if (extinct) {
        for (Layer& layer : next->layers_) {
            layer.members.clear();
        }
        next->pool_.clear();
    }
    std::vector<AgedMember>& oldest = next->layers_.back().members;
    const std::size_t room = next->layers_.back().elites;
    for (const Member& member : newcomers(next->pool_, immigrants, room)) {
        oldest.push_back({member, 0});
    }
    std::ranges::sort(oldest, [](const AgedMember& a, const AgedMember& b) {
        return fitter(a.member, b.member);
    });
    oldest.resize(std::min(oldest.size(), room));
    next->arrange();
    return next;
}

std::string AgeLayersStrategy::settings_text() const {
    nlohmann::ordered_json json;
    field_json::write(json["age_layers"], settings_);
    field_json::write(json["selection"], selection_);
    for (const Layer& layer : layers_) {
        field_json::append(json["elites"]) = layer.elites;
    }
    return json.dump();
}

std::vector<std::byte> AgeLayersStrategy::save() const {
    ArchiveWriter writer;
    writer.write(age_layers_format);
    writer.write(seed_);
    writer.write(size_);
    writer.write(splice_rate_);
    writer.write(ids_.offset);
    writer.write(ids_.stride);
    writer.write(settings_text());
    writer.write(generation_);
    for (const Layer& layer : layers_) {
        std::vector<Member> members;
        for (const AgedMember& one : layer.members) {
            members.push_back(one.member);
        }
        write_members(writer, members);
        for (const AgedMember& one : layer.members) {
            writer.write(one.founded);
        }
    }
    return writer.take();
}

std::unique_ptr<Strategy> AgeLayersStrategy::load(std::span<const std::byte> bytes) const {
    ArchiveReader reader(bytes, "strategy of the checkpoint");
    std::uint32_t found = 0;
    reader.read(found);
    if (found != age_layers_format) {
        reader.fail(
            fmt::format("it has format {}, this program reads {}", found, age_layers_format));
    }
    auto other = std::make_unique<AgeLayersStrategy>(*this);
    std::string text;
    reader.read(other->seed_);
    reader.read(other->size_);
    reader.read(other->splice_rate_);
    reader.read(other->ids_.offset);
    reader.read(other->ids_.stride);
    reader.read(text);
    if (other->seed_ != seed_ || other->size_ != size_ || other->splice_rate_ != splice_rate_ ||
        other->ids_ != ids_ || text != settings_text()) {
        reader.fail("it was saved with another seed, population, splice rate or other layers");
    }
    reader.read(other->generation_);
    for (Layer& layer : other->layers_) {
        layer.members.clear();
        for (const Member& member : read_members(reader, layer.elites)) {
            layer.members.push_back({member, 0});
        }
        for (AgedMember& one : layer.members) {
            reader.read(one.founded);
            if (one.founded > other->generation_ || one.member.origin > one.member.birth) {
                reader.fail(fmt::format("member {} is of another one", one.member.birth));
            }
        }
    }
    reader.finish();
    other->arrange();
    return other;
}

}  // namespace

std::vector<std::uint64_t> age_limits(const AgeLayerSettings& settings) {
    std::vector<std::uint64_t> limits;
    std::uint64_t before = 1;
    std::uint64_t factor = 1;
    for (std::uint64_t i = 0; i + 1 < settings.count; ++i) {
        limits.push_back(factor * settings.gap);
        switch (settings.scheme) {
            case AgeScheme::linear:
                ++factor;
                break;
            case AgeScheme::fibonacci:
                before = std::exchange(factor, factor + before);
                break;
            case AgeScheme::polynomial:
                factor = i == 0 ? 2 : (i + 1) * (i + 1);
                break;
            case AgeScheme::exponential:
                factor *= 2;
                break;
        }
    }
    limits.push_back(no_limit);
    return limits;
}

std::unique_ptr<Strategy> make_age_layers_strategy(const StrategyContext& context) {
    return std::make_unique<AgeLayersStrategy>(context);
}

}  // namespace cambrian::evolve
