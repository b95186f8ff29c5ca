#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/config/config_file.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

// An error of a reader is tested with its remedy applied: a row holds files that provoke the error,
// what the message must say, and the edit that it proposes, after which the files are read to the
// end. A message with several remedies has a row for each.
namespace cambrian::launch::test {

/// A text of a file that becomes another; without a text: the whole file.
struct Edit {
    std::string file;
    std::string from;
    std::string to;
};

struct RemedyRow {
    std::string name;
    std::string config;
    std::string problem;  ///< What the message says is wrong.
    std::string remedy;   ///< What it proposes.
    std::vector<Edit> edits;
    std::map<std::string, std::string> files{};  ///< Beside the config and rows.csv.
    std::vector<std::string> overrides{};        ///< As of --set.
    std::vector<std::string> mended_overrides{};
};

inline void PrintTo(const RemedyRow& row, std::ostream* out) {
    *out << row.name;
}

/// A table of twelve rows: inputs a and b, a number y, a class k and a text t.
inline std::string rows_csv() {
    std::string text = "a,b,y,k,t\n";
    for (int row = 0; row < 12; ++row)
        text += std::to_string(row % 5) + "," + std::to_string(row % 3) + "," +
                std::to_string(row) + ".5," + std::to_string(row % 2) + ",word\n";
    return text;
}

/// A config of a task; `more` are sections beside it.
inline std::string task_config(const std::string& type, const std::string& keys,
                               const std::string& more = "") {
    return R"({"task": {"type": ")" + type + "\"" + (keys.empty() ? "" : ", " + keys) + "}" +
           (more.empty() ? "" : ", " + more) + "}";
}
inline std::string table_config(const std::string& keys, const std::string& more = "") {
    return task_config("table", R"("train": ["rows.csv"], )" + keys, more);
}
inline std::string csv_config(const std::string& keys, const std::string& loss = "",
                              const std::string& more = "") {
    const std::string source = R"("source": {"type": "csv", "files": ["rows.csv"])" +
                               (keys.empty() ? "" : ", " + keys) + "}";
    return task_config("dataset", source + (loss.empty() ? "" : R"(, "loss": )" + loss), more);
}

/// Reads the config of a folder to the end, as 'evolve' does, or 'train' where it is its; returns
/// the error, or nothing.
inline std::string error_of_reading(const TemporaryDirectory& directory,
                                    const std::vector<std::string>& overrides) {
    const Schema schema;
    const auto nothing = [](const std::string&) { return std::optional<std::string>(); };
    try {
        const ConfigDocument document = read_config(directory.file("config.json"), overrides);
        if (document.json->contains("training"))
            (void)make_training(resolve_training(document, schema, nothing), schema,
                                evolve::standard_tasks());
        else
            (void)make_experiment(resolve(document, schema, nothing), schema,
                                  evolve::standard_tasks());
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

/// Applies an edit; the text it changes must be there once.
inline void apply(const Edit& edit, std::map<std::string, std::string>& files) {
    std::string& text = files[edit.file];
    if (edit.from.empty()) {
        text = edit.to;
        return;
    }
    const std::size_t place = text.find(edit.from);
    ASSERT_NE(place, std::string::npos) << edit.from;
    ASSERT_EQ(place, text.rfind(edit.from)) << edit.from;
    text.replace(place, edit.from.size(), edit.to);
}

/// What a message wants explained can be.
inline void expect_explained(const std::string& error) {
    const std::string command = "see 'cambrian explain";
    const std::size_t place = error.find(command);
    if (place == std::string::npos) return;
    const std::size_t begin = place + command.size();
    const std::string key = error.substr(begin, error.find('\'', begin) - begin);
    std::vector<std::string> arguments{"explain"};
    if (key.size() > 1) arguments.push_back(key.substr(1));
    EXPECT_EQ(run(arguments).code, 0) << error;
}

inline void expect_remedy_works(const RemedyRow& row) {
    std::map<std::string, std::string> files = row.files;
    files.emplace("config.json", row.config);
    files.emplace("rows.csv", rows_csv());
    const TemporaryDirectory directory;
    const auto write = [&] {
        for (const auto& [name, text] : files) directory.write(name, text);
    };
    write();
    const std::string error = error_of_reading(directory, row.overrides);
    EXPECT_THAT(error, testing::HasSubstr(row.problem));
    EXPECT_THAT(error, testing::HasSubstr(row.remedy));
    expect_explained(error);
    for (const Edit& edit : row.edits) apply(edit, files);
    write();
    EXPECT_EQ(error_of_reading(directory, row.mended_overrides), "") << "after: " << error;
}

}  // namespace cambrian::launch::test
