#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {

/// Text of configs/schema.json, built into the program.
[[nodiscard]] std::string_view schema_text();
/// Adds what structs, tasks and kinds of genomes say of their settings, see Schema.
void add_settings(Json& schema, const evolve::TaskRegistry& tasks,
                  const evolve::GenomeRegistry& genomes);

/// A key of a config as `cambrian explain` lists it.
struct SchemaKey {
    std::string key;      ///< "population.size", "network.layers[].out".
    std::string variant;  ///< The task or layer type the key belongs to; empty for a common key.
    const Json* node = nullptr;
    bool section = false;  ///< Has keys of its own.

    /// "genome.node_add_rate of type neat".
    [[nodiscard]] std::string named() const {
        return variant.empty() ? key : key + " of type " + variant;
    }
};

/// The schema of configs: a subset of JSON Schema 2020-12, where `x-variants` names the keys of an
/// object by its "type", `x-class` says what a resume may change, and `x-aliases` lists the names
/// that other programs use. `x-without-key` of the whole says what to do about their other names.
class Schema {
  public:
    /// The schema of configs/schema.json with what structs and tasks say of their settings.
    explicit Schema(const evolve::TaskRegistry& tasks = evolve::standard_tasks(),
                    const evolve::GenomeRegistry& genomes = evolve::standard_genomes());
    /// @param text in place of configs/schema.json. Throws ContractViolation for a default that a
    /// struct has, too.
    Schema(std::string_view text, const evolve::TaskRegistry& tasks,
           const evolve::GenomeRegistry& genomes = evolve::standard_genomes());

    [[nodiscard]] const Json& root() const { return *root_; }
    /// Of the registry that it was made with: what configs are read with.
    [[nodiscard]] const std::vector<evolve::PluginIdentity>& plugins() const { return plugins_; }
    /// The node itself, or what its "$ref" names.
    [[nodiscard]] const Json& resolve(const Json& node) const;

    /// What an object may hold.
    struct Keys {
        std::vector<std::pair<std::string, const Json*>> properties;
        std::vector<std::string> required;
        std::vector<std::string> variants;  ///< Known values of "type", where it chooses the keys.
        bool chosen = false;                ///< Its "type" is one of them.
        std::string variant{};              ///< Which; it may be the default.
        bool open = false;                  ///< Other keys are somebody else's to check.
    };
    [[nodiscard]] Keys keys(const Json& node, const Json& object) const;
    /// Of the node itself, or of what its "$ref" names; null: none.
    [[nodiscard]] const Json* default_of(const Json& node) const;

    /// Every key in the order of the schema, sections before what they hold.
    [[nodiscard]] std::vector<SchemaKey> all_keys() const;
    /// The key that another program calls `alias`: one of that section, or in one of its own, where
    /// it has one.
    [[nodiscard]] std::optional<SchemaKey> key_of_alias(std::string_view alias,
                                                        std::string_view section = "") const;
    /// Keys of this word but what holds the section: the same key of other types first, then those
    /// of every type, the outer ones before; those that a list of sections repeats last.
    [[nodiscard]] std::vector<SchemaKey> keys_called(const std::string& word,
                                                     const std::string& section) const;
    /// What to try in place of a name that is no key of a section: another program's name for one
    /// of its keys, then, at the top, a key of that word, another program's name for any key, what
    /// is near, and a key of that word elsewhere. Nothing where only the type is another.
    /// @param near the key that is spelt like it, where there is one.
    [[nodiscard]] std::optional<std::string> hint(const std::string& name,
                                                  const std::string& section,
                                                  const std::optional<std::string>& near) const;
    /// What to do in place of a setting of another program that no key stands for; or nothing.
    [[nodiscard]] std::optional<std::string> without_key(std::string_view name) const;

  private:
    [[nodiscard]] const Json* type_of(const Keys& keys, const Json& object) const;
    /// The node, what its "$ref" names, and so on: each adds keys to the one after it.
    [[nodiscard]] std::vector<const Json*> references(const Json& node) const;
    void collect(const Json& node, const std::string& key, const std::string& variant, int depth,
                 std::vector<SchemaKey>& found) const;

    std::shared_ptr<const Json> root_;
    std::vector<evolve::PluginIdentity> plugins_;
};

/// What a value may be, in words: "an integer of at least 1", "one of \"births\", \"genomes\"".
[[nodiscard]] std::string allowed_values(const Schema& schema, const Json& node);

/// A value as an error message quotes it: JSON, cut when long.
[[nodiscard]] std::string quoted(const Json& value);

}  // namespace cambrian::launch
