#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/version.hpp"
#include "cambrian/evolve/plugins/plugin_library.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/output_file.hpp"
#include "cambrian/launch/config/nearest.hpp"
#include "cambrian/launch/config/plugin_files.hpp"
#include "cambrian/launch/main.hpp"
#include "cambrian/launch/process.hpp"
#include "cambrian/launch/program/command_line.hpp"
#include "cambrian/launch/program/number_options.hpp"

namespace cambrian::launch {

CommandLine::CommandLine(const CommandContext& context)
    : tasks_(context.tasks), genomes_(context.genomes), context_{tasks_,      context.out,
                                                                 context.err, context.strategies,
                                                                 genomes_,    nullptr} {
    app_.description("Evolves neural networks, on one rank or many, and trains them.");
    app_.name("cambrian");
    app_.require_subcommand(1);
    app_.set_version_flag("--version", fmt::format("cambrian {}.{}.{}", CAMBRIAN_VERSION_MAJOR,
                                                   CAMBRIAN_VERSION_MINOR, CAMBRIAN_VERSION_PATCH));
    app_.footer(
        "Examples:\n"
        "  cambrian evolve configs/quickstart.json\n"
        "  cambrian new --csv rows.csv --target label\n"
        "  launch/mpi -n 4 cambrian evolve configs/cart_pole.json\n"
        "  cambrian train configs/train_spirals.json\n"
        "  cambrian explain population.size\n"
        "'cambrian COMMAND --help' tells more of a command.");
    add_new();
    add_evolve();
    add_resume();
    add_train();
    add_trials();
    add_sweep();
    add_status();
    add_adaptation();
    add_individuals();
    add_lineage();
    add_extract();
    add_report();
    add_evaluate();
    add_infer();
    add_generate();
    add_inspect();
    add_compare();
    add_splice();
    add_convert();
    add_tokenize();
    add_quantise();
    add_validate();
    add_explain();
    add_devices();
    add_ops();
    add_layers();
    add_check();
    add_registry();
    add_completion();
    add_manual();
    for (CLI::App* command : app_.get_subcommands([](const CLI::App*) { return true; }))
        check_numbers(*command);
}

int CommandLine::run(std::vector<std::string> arguments) {
    if (!arguments.empty()) first_ = arguments.front();
    std::reverse(arguments.begin(), arguments.end());
    try {
        app_.parse(std::move(arguments));
    } catch (const CLI::Success& request) {
        return app_.exit(request, context_.out, context_.err);
    } catch (const CLI::ParseError& error) {
        if (launcher_rank() == 0) context_.err << error_line(usage(error));
        return exit_config;
    }
    load_plugins();
    return command_();
}

void CommandLine::load_plugins() {
    for (const CLI::App* sub : app_.get_subcommands()) {
        try {
            load_plugins_of(*sub);
        } catch (const Error&) {
            // These meet other ranks first, and end them all.
            if (sub->get_name() != "evolve" && sub->get_name() != "resume") throw;
            context_.plugin_failure = std::current_exception();
        }
    }
}

void CommandLine::load_plugins_of(const CLI::App& sub) {
    std::vector<std::filesystem::path> files(plugins_.begin(), plugins_.end());
    const CLI::Option* const set = sub.get_option_no_throw("--set");
    const std::vector<std::string> overrides =
        set == nullptr ? std::vector<std::string>() : set->results();
    // To run a config is to run its code; what only reads files of others loads what it is told.
    for (const CLI::Option* option : sub.get_options()) {
        if (sub.get_option_no_throw("--plugin") != nullptr && option->get_name() != "--config")
            continue;
        if (!option->get_positional() && option->get_name() != "--config") continue;
        for (const std::string& source : option->results())
            for (std::filesystem::path& file : plugin_files(source, overrides))
                files.push_back(std::move(file));
    }
    // Networks of one run name its plug-ins each.
    std::vector<std::filesystem::path> loaded;
    for (const std::filesystem::path& file : files) {
        std::error_code error;
        const std::filesystem::path canonical = std::filesystem::weakly_canonical(file, error);
        if (std::ranges::find(loaded, canonical) != loaded.end()) continue;
        loaded.push_back(canonical);
        evolve::load_plugin(file, {tasks_, genomes_});
    }
}

CLI::App& CommandLine::add(const char* name, const char* description, const char* examples,
                           std::function<int()> command) {
    CLI::App& sub = *app_.add_subcommand(name, description);
    sub.footer(std::string("Examples:\n") + examples);
    // A run has them in its config, engine.plugins; these read no networks and no keys.
    static constexpr std::array<std::string_view, 12> without{
        "evolve",  "resume",     "train",       "trials",   "sweep", "status",
        "devices", "adaptation", "individuals", "tokenize", "ops",   "validate"};
    if (std::ranges::find(without, name) == without.end())
        sub.add_option("--plugin", plugins_,
                       "Load a shared object with tasks, layers or mutations (repeatable)")
            ->allow_extra_args(false)
            ->type_name("FILE");
    sub.final_callback([this, command = std::move(command)] { command_ = command; });
    return sub;
}

void CommandLine::add_overrides(CLI::App& sub, std::vector<std::string>& overrides) {
    sub.add_option("--set", overrides,
                   "Set a key of the config, such as population.size=64 (repeatable)")
        ->allow_extra_args(false)
        ->type_name("KEY=VALUE");
}

void CommandLine::add_require_solved(CLI::App& sub, RunOptions& options) {
    sub.add_flag("--require-solved", options.require_solved,
                 "Exit with 6 when the run ends below run.stop.fitness, or fails run.stop.solved");
}

void CommandLine::add_gpu_flags(CLI::App& sub, std::string& dump, bool& profile) {
    sub.add_option("--dump", dump, "Write graphs, plans and generated shaders there")
        ->type_name("DIRECTORY");
    sub.add_flag("--profile", profile,
                 "Print time and traffic of each kernel of rank 0 at the end (slows a run down)");
}

std::string CommandLine::chosen() const {
    for (const CLI::App* sub : app_.get_subcommands()) return " " + sub->get_name();
    return "";
}

std::string CommandLine::usage(const CLI::ParseError& error) const {
    if (!chosen().empty() || first_.empty() || first_.starts_with("-"))
        return fmt::format("{} (wrong usage) see 'cambrian{} --help'", error.what(), chosen());
    std::vector<std::string> names;
    for (const CLI::App* sub : app_.get_subcommands(nullptr)) names.push_back(sub->get_name());
    const auto near = nearest(first_, names);
    return fmt::format(
        "{} is not a command (known: {}) {}", first_, fmt::join(names, ", "),
        near ? fmt::format("did you mean {}?", *near) : std::string("see 'cambrian --help'"));
}

Json CommandLine::commands() const {
    Json list = Json::array();
    for (const CLI::App* sub : app_.get_subcommands(nullptr)) {
        Json options = Json::array();
        for (const CLI::Option* option : sub->get_options())
            options.push_back(
                {{"name", option->get_name(true, true)},
                 {"allowed", option->get_type_name()},
                 {"default",
                  option->get_default_str().empty() ? Json() : Json(option->get_default_str())},
                 {"required", option->get_required()},
                 {"meaning", option->get_description()}});
        list.push_back({{"name", sub->get_name()},
                        {"summary", sub->get_description()},
                        {"fields", std::move(options)},
                        {"examples", sub->get_footer()}});
    }
    return list;
}

int run_program(const std::vector<std::string>& arguments, const evolve::TaskRegistry& tasks,
                std::ostream& out, std::ostream& err, const evolve::StrategyRegistry& strategies,
                const evolve::GenomeRegistry& genomes) {
    int code = exit_failed;
    try {
        CommandLine command_line({tasks, out, err, strategies, genomes});
        code = command_line.run(arguments);
        // A full disk may only be told now.
        if (launcher_rank() == 0)
            flush_standard_output(out);
        else
            out.flush();
    } catch (...) {
        const Failure failure = failure_of(std::current_exception());
        code = failure.exit_code;
        if (launcher_rank() == 0) {
            out.flush();
            err << error_line(failure.text) << std::flush;
        }
    }
    if (launcher_rank() == 0) record_exit_code(code);
    return code;
}

}  // namespace cambrian::launch

namespace cambrian {

int main(int argc, char** argv, const evolve::TaskRegistry& tasks,
         const evolve::StrategyRegistry& strategies, const evolve::GenomeRegistry& genomes) {
    try {
        launch::open_standard_descriptors();
    } catch (const Error& error) {
        std::cerr << error_line(error.what()) << std::flush;
        return exit_failed;
    }
    const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
    return launch::run_program(arguments, tasks, std::cout, std::cerr, strategies, genomes);
}

}  // namespace cambrian
