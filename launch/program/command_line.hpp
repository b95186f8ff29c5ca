#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "cambrian/launch/commands/commands.hpp"

namespace cambrian::launch {

/// The command line: fills the options of the chosen sub-command and knows how to run it.
class CommandLine {
  public:
    explicit CommandLine(const CommandContext& context);
    /// Parses and runs; → exit code.
    int run(std::vector<std::string> arguments);

  private:
    /// Adds what the plug-ins of the command line and of configs bring to the registries.
    void load_plugins();
    void load_plugins_of(const CLI::App& sub);
    CLI::App& add(const char* name, const char* description, const char* examples,
                  std::function<int()> command);

    static void add_overrides(CLI::App& sub, std::vector<std::string>& overrides);
    static void add_require_solved(CLI::App& sub, RunOptions& options);
    static void add_gpu_flags(CLI::App& sub, std::string& dump, bool& profile);

    std::string chosen() const;

    /// What was wrong with the command line, and what to write instead.
    std::string usage(const CLI::ParseError& error) const;

    void add_new();
    void add_evolve();
    void add_resume();
    void add_train();
    static void add_trial_options(CLI::App& sub, TrialsOptions& options);
    void add_trials();
    void add_sweep();
    void add_status();
    void add_adaptation();
    void add_individuals();
    void add_lineage();
    void add_extract();
    void add_report();
    static void add_ensemble(CLI::App& sub, std::string& ensemble, std::vector<double>& weights);
    void add_evaluate();
    void add_infer();
    void add_generate();
    void add_inspect();
    void add_compare();
    void add_grouping(CLI::App& sub);
    void add_graft(CLI::App& sub);
    void add_splice();
    void add_quantise();
    void add_convert();
    void add_tokenize();
    void add_convert_model(CLI::App& sub);
    void add_validate();
    void add_explain();
    void add_devices();
    void add_ops();
    void add_layers();
    void add_check();
    void add_registry();
    void add_completion();
    void add_manual();

    /// The sub-commands with their options.
    [[nodiscard]] Json commands() const;

    evolve::TaskRegistry tasks_;
    evolve::GenomeRegistry genomes_;
    std::vector<std::string> plugins_;  ///< Of --plugin.
    CommandContext context_;
    CLI::App app_;
    std::function<int()> command_;
    std::string first_;  ///< The first word after the program.
    NewOptions new_;
    RunOptions evolve_;
    RunOptions resume_;
    RunOptions train_;
    TrialsOptions trials_;
    SweepOptions sweep_;
    std::string status_directory_;
    bool status_json_ = false;
    AdaptationOptions adaptation_;
    IndividualsOptions individuals_;
    LineageOptions lineage_;
    ExtractOptions extract_;
    ReportOptions report_;
    EvaluateOptions evaluate_;
    InferOptions infer_;
    GenerateOptions generate_;
    InspectOptions inspect_;
    CompareOptions compare_;
    SpliceOptions splice_;
    ConvertOptions convert_;
    TokenizeOptions tokenize_;
    QuantiseOptions quantise_;
    ExplainOptions explain_;
    bool devices_json_ = false;
    bool ops_json_ = false;
    LayersOptions layers_;
    CheckOptions check_;
    bool registry_json_ = false;
    std::string shell_;
};

}  // namespace cambrian::launch
