#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/evolve/variation/complexity.hpp"
#include "cambrian/evolve/variation/mutation.hpp"
#include "cambrian/evolve/variation/splice.hpp"

namespace cambrian::evolve {

/// What the genes of a run are, and how children come from parents. Const, for any thread; draws
/// come from the given streams alone, and what comes of them is the same bits on every machine.
class GenomeKind {
  public:
    virtual ~GenomeKind() = default;
    /// Its name in configs.
    [[nodiscard]] virtual std::string_view type() const = 0;

    /// What founders are made of where the network of a config is all there is: the network itself
    /// as adopt() has it. Throws as that does.
    [[nodiscard]] virtual Genome begin(const Blueprint& network) const;
    /// A genome of any kind as one of this kind: genes that it lacks are those of founders, and
    /// those that this kind has not are dropped. Throws ConfigError for a network that no genome
    /// of this kind holds.
    [[nodiscard]] virtual Genome adopt(Genome genome) const = 0;
    /// The structure of a founder. @param whole what adopt() made of the founders' blueprint.
    [[nodiscard]] virtual SharedStructure found(RandomStream& rng, const SharedStructure& whole,
                                                std::uint64_t birth) const = 0;
    /// Begins the plan of a founder with weights of its own.
    virtual void draw_weights(RandomStream& rng, SharedStructure founder,
                              ChildPlan& child) const = 0;
    /// Lets the weights of a founder differ from those of a network that it starts from.
    virtual void disturb(RandomStream& rng, ChildPlan& child) const = 0;

    /// Makes a plan that has begun with the first parent, the fitter one, that of a child of two.
    virtual void cross(RandomStream& rng, ChildPlan& child, double first_fitness,
                       const SharedStructure& second, double second_fitness) const = 0;
    virtual void mutate_structure(RandomStream& rng, ChildPlan& child,
                                  std::uint64_t birth) const = 0;
    /// Whether it has simplify(), without which a search has no phases.
    [[nodiscard]] virtual bool simplifies() const { return false; }
    /// In place of mutate_structure() for a child that gains no genes, see ComplexitySettings.
    virtual void simplify(RandomStream& rng, ChildPlan& child, std::uint64_t birth) const;
    /// For a plan whose structure is final.
    virtual void mutate_weights(RandomStream& rng, ChildPlan& child, std::uint64_t birth) const = 0;
    /// Whether it depends on the weights of both parents how they cross: then `aligned` says what
    /// the second gives.
    [[nodiscard]] virtual bool reads_weights() const { return false; }
    /// The weights of the second of two parents, in the order of those of the first that they are
    /// most like.
    [[nodiscard]] virtual std::vector<float> aligned(const Individual& first,
                                                     const Individual& second) const;
    /// Whether children have graphs that no parent has, beyond activations and what is enabled.
    [[nodiscard]] virtual bool makes_structures() const = 0;

    /// Whether what is evaluated is another network, which develops from the genes: the genotype is
    /// what founders are made of, what children inherit, and what is stored, sent and compared.
    [[nodiscard]] virtual bool develops() const { return false; }
    /// The network that a genotype becomes: a function of it alone. Contract: develops(), and its
    /// weights are on the host.
    [[nodiscard]] virtual Individual develop(const Individual& genotype) const;
};

/// What a kind of genome is made of beside its own settings.
struct GenomeContext {
    MutationSettings mutation;
    SpliceSettings splice;
    GenomeLimits limits;
    ComplexitySettings complexity{};
    std::int64_t observations = 0;  ///< Inputs of the networks that the task asks for.
    std::int64_t outputs = 0;
};

/// The kind whose genes are layers and links, which mutation and splice are about.
[[nodiscard]] std::shared_ptr<const GenomeKind> make_volumetric(const GenomeContext& context);

/// A kind of genome as configs name it.
struct GenomeType {
    std::string name;
    std::string meaning;  ///< A line for those who choose one.
    /// @param settings the section "genome". Refuses wrong settings itself.
    std::function<std::shared_ptr<const GenomeKind>(const nlohmann::json& settings,
                                                    const GenomeContext& context)>
        make;
    /// Adds what the schema of configs says of its keys ("properties"), see
    /// field_json::describe_fields.
    std::function<void(nlohmann::ordered_json& schema)> describe;
};

/// A plug-in that a registry has something of: part of the identity of runs.
struct PluginIdentity {
    std::string name;
    std::string version;
    Hash128 content;  ///< Of its file.
    bool operator==(const PluginIdentity&) const = default;
};

/// Kinds of genomes by `genome.type`, and mutations beside those that come with Cambrian; passed by
/// value: a program adds its own.
class GenomeRegistry {
  public:
    /// Throws ConfigError when the name is taken.
    void add(GenomeType type);
    /// Throws ConfigError naming the nearest type, or what the type throws.
    [[nodiscard]] std::shared_ptr<const GenomeKind> make(const nlohmann::json& settings,
                                                         const GenomeContext& context) const;
    [[nodiscard]] std::vector<std::string> names() const;
    /// What the schema of configs says of the types: "x-variants".
    [[nodiscard]] nlohmann::ordered_json schema() const;

    /// Throws ConfigError where the key is taken or no name.
    void add_mutation(CustomMutation mutation);
    [[nodiscard]] const std::vector<CustomMutation>& mutations() const { return mutations_; }
    /// What the schema of configs says of their rates: "properties" of the section "mutation".
    [[nodiscard]] nlohmann::ordered_json mutation_schema() const;

    /// Throws ConfigError where one of that name is there.
    void add_plugin(PluginIdentity plugin);
    [[nodiscard]] const std::vector<PluginIdentity>& plugins() const { return plugins_; }

  private:
    std::map<std::string, GenomeType, std::less<>> types_;
    std::vector<CustomMutation> mutations_;
    std::vector<PluginIdentity> plugins_;
};

/// The kinds that come with Cambrian: volumetric, neat and hyperneat.
[[nodiscard]] GenomeRegistry standard_genomes();

}  // namespace cambrian::evolve
