#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/launch/config/table_profile.hpp"

// A config for the rows of a CSV file, written for its user to read and change.
namespace cambrian::launch {

struct TableConfigOptions {
    std::vector<std::string> targets;
    std::string mode;              ///< "regression", "classification"; empty: as the target is.
    std::int64_t time_offset = 0;  ///< Forecasts of so many rows later; 0: rows on their own.
    std::string name;              ///< Of the run.
    std::string csv;               ///< The file as the config is to name it.
};

/// What a config makes of a file, and why.
struct TableConfig {
    bool classification = false;
    std::string reason;  ///< Why it classifies or not, a clause.
    std::vector<std::string> inputs;
    std::vector<std::pair<std::string, std::string>> left_out;  ///< Columns, and why.
    std::string text;                                           ///< The config, commented.
};

/// Throws InputError for targets that nothing can be learnt from, and for a file with too few rows.
[[nodiscard]] TableConfig table_config(const TableProfile& profile,
                                       const TableConfigOptions& options);

}  // namespace cambrian::launch
