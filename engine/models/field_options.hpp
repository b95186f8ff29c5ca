#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/models/universal.hpp"

namespace cambrian::models {

/// The fields and layers that a user gives, and what is still to be told.
class FieldOptions {
  public:
    /// Throws ConfigError for an option that cannot be read.
    explicit FieldOptions(const UniversalOptions& options);

    /// The types that fields give to modules.
    [[nodiscard]] std::map<std::string, std::string, std::less<>> types() const;
    /// Adds to the fields of a module those that are given: for it, or for all layers that have
    /// them. Notes those that nobody tells.
    /// @param activated whether its activation counts.
    void fill(const FoundModule& module, LayerFields& fields, bool activated);
    /// The layers after a module.
    [[nodiscard]] std::vector<AnyLayer> inserted_after(const std::string& path);

    /// Notes what an option has to tell.
    void miss(const std::string& option, const std::string& what);
    [[nodiscard]] bool misses_any() const { return !missing_.empty(); }
    /// Throws InputError that names the options.
    void require_all_told(std::string_view source) const;
    /// Throws ConfigError that names an option which no module has a use for.
    void require_all_used(const std::vector<FoundModule>& modules) const;

  private:
    struct Given {
        std::string text;                 ///< As the user wrote it.
        std::optional<std::string> path;  ///< None: all.
        std::string field;                ///< Or the layer that is inserted.
        std::string value;                ///< JSON.
        bool used = false;
    };
    Given* find(const std::string& path, std::string_view field);

    std::vector<Given> fields_;
    std::vector<Given> insertions_;
    std::map<std::string, std::vector<std::string>> missing_;  ///< By option, what it tells.
};

}  // namespace cambrian::models
