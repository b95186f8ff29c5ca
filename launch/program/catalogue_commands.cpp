#include <nlohmann/json.hpp>

#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/registry.hpp"
#include "cambrian/launch/program/command_line.hpp"
#include "cambrian/launch/program/shell_texts.hpp"

// Options of the commands of the room launch/commands/catalogue.
namespace cambrian::launch {

void CommandLine::add_validate() {
    CLI::App& sub = add("validate", "Check a config, its data and its network",
                        "  cambrian validate configs/coal.json", [this] {
                            return validate_command(context_, evolve_.config, evolve_.overrides);
                        });
    sub.add_option("CONFIG", evolve_.config, "The config file")->required();
    add_overrides(sub, evolve_.overrides);
}

void CommandLine::add_explain() {
    CLI::App& sub =
        add("explain", "Explain a key of a config, or a layer, a task, a strategy by its name",
            "  cambrian explain\n"
            "  cambrian explain mutation.link_add_rate\n"
            "  cambrian explain lstm\n"
            "  cambrian explain --all\n"
            "  cambrian explain --json > schema.json",
            [this] { return explain_command(context_, explain_); });
    CLI::Option* key = sub.add_option("KEY", explain_.key,
                                      "The key, such as population.size, or a name, such as "
                                      "cart_pole; without it a short list");
    CLI::Option* all = sub.add_flag("--all", explain_.all, "List every key")->excludes(key);
    CLI::Option* json = sub.add_flag("--json", explain_.json,
                                     "Print the JSON schema of configs, with every default")
                            ->excludes(key)
                            ->excludes(all);
    sub.add_flag("--markdown", explain_.markdown, "Print every key as a page of tables")
        ->excludes(key)
        ->excludes(all)
        ->excludes(json);
}

void CommandLine::add_devices() {
    CLI::App& sub = add("devices", "List the GPUs of this host",
                        "  cambrian devices\n"
                        "  cambrian devices --json",
                        [this] { return devices_command(context_, devices_json_); });
    sub.add_flag("--json", devices_json_, "Print JSON");
}

void CommandLine::add_ops() {
    CLI::App& sub = add("ops", "List every operation a graph can hold, with its rules",
                        "  cambrian ops\n"
                        "  cambrian ops --json",
                        [this] { return ops_command(context_, ops_json_); });
    sub.add_flag("--json", ops_json_, "Print JSON");
}

void CommandLine::add_layers() {
    CLI::App& sub =
        add("layers", "List every layer type, or one, with its fields, shapes and formula",
            "  cambrian layers\n"
            "  cambrian layers lstm\n"
            "  cambrian layers --json",
            [this] { return layers_command(context_, layers_); });
    CLI::Option* type = sub.add_option("TYPE", layers_.type, "The layer type, such as dense");
    sub.add_flag("--activations", layers_.activations, "List the activations that layers take")
        ->excludes(type);
    sub.add_flag("--json", layers_.json, "Print JSON");
}

void CommandLine::add_completion() {
    CLI::App& sub =
        add("completion", "Print a script that completes commands and options in a shell",
            "  source <(cambrian completion bash)\n"
            "  cambrian completion zsh > ~/.zsh/completions/_cambrian\n"
            "  cambrian completion fish > ~/.config/fish/completions/cambrian.fish",
            [this] {
                context_.out << completion_script(app_, shell_);
                return exit_done;
            });
    sub.add_option("SHELL", shell_, "bash, zsh or fish")->required();
}

void CommandLine::add_manual() {
    add("manual", "Print the manual page, for man",
        "  cambrian manual > cambrian.1\n"
        "  cambrian manual | man -l -",
        [this] {
            context_.out << manual_page(app_);
            return exit_done;
        });
}

void CommandLine::add_registry() {
    CLI::App& sub =
        add("registry",
            "List all that is registered: ops, layers, losses, optimizers, tasks, strategies, "
            "commands, with fields, defaults and what they mean",
            "  cambrian registry\n"
            "  cambrian registry --json | jq '.layers[].name'",
            [this] { return registry_command(context_, commands(), registry_json_); });
    sub.add_flag("--json", registry_json_, "Print JSON");
}

}  // namespace cambrian::launch
