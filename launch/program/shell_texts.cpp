#include "cambrian/launch/program/shell_texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/core/version.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"

namespace cambrian::launch {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
    return program.get_subcommands([](const CLI::App*) { return true; });
}

/// Those that begin with a dash, long ones first.
std::vector<std::string> option_names(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    }
    return names;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
        text.replace(at, from.size(), to);
        at += to.size();
    }
    return text;
}

/// In single quotes of a shell.
std::string shell_quoted(std::string_view text) {
    return "'" + replaced(std::string(text), "'", R"('\'')") + "'";
}

std::string names_of(const std::vector<const CLI::App*>& commands) {
    std::vector<std::string> names;
    for (const CLI::App* command : commands) names.push_back(command->get_name());
    return fmt::format("{}", fmt::join(names, " "));
}

std::string bash_script(const CLI::App& program) {
    const auto commands = commands_of(program);
    std::string script = fmt::format(
        R"(# Completion of cambrian in bash: source it, or put it into /etc/bash_completion.d.
_cambrian() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} options=
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{} --help --version' -- "$word"))
        return
    fi
    case ${{COMP_WORDS[1]}} in
)",
        names_of(commands));
    for (const CLI::App* command : commands)
        script += fmt::format("    {}) options='{}' ;;\n", command->get_name(),
                              fmt::join(option_names(*command), " "));
    return script + R"(    esac
    case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) compopt -o filenames; COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}
complete -F _cambrian cambrian
)";
}

/// Of zsh: what a colon or a bracket would end.
std::string zsh_text(const std::string& text) {
    return replaced(replaced(replaced(text, "[", "("), "]", ")"), ":", " -");
}

std::string zsh_script(const CLI::App& program) {
    std::string script = R"(#compdef cambrian
# Completion of cambrian in zsh: put it into a folder of $fpath as _cambrian.
local -a commands
commands=(
)";
    const auto commands = commands_of(program);
    for (const CLI::App* command : commands)
        script += "    " +
                  shell_quoted(command->get_name() + ":" + zsh_text(command->get_description())) +
                  "\n";
    script += R"()
if (( CURRENT == 2 )); then
    _describe command commands
    return
fi
case $words[2] in
)";
    for (const CLI::App* command : commands) {
        script += fmt::format("{}) _arguments", command->get_name());
        for (const CLI::Option* option : command->get_options())
            for (const std::string& name : option->get_lnames())
                script += " " + shell_quoted(fmt::format(
                                    "*--{}[{}]{}", name, zsh_text(option->get_description()),
                                    option->get_items_expected() > 0 ? ":value:_files" : ""));
        script += " '*:file:_files' ;;\n";
    }
    return script + "esac\n";
}

std::string fish_script(const CLI::App& program) {
    std::string script =
        "# Completion of cambrian in fish: put it into ~/.config/fish/completions/cambrian.fish.\n";
    for (const CLI::App* command : commands_of(program)) {
        script += fmt::format("complete -c cambrian -n __fish_use_subcommand -a {} -d {}\n",
                              command->get_name(), shell_quoted(command->get_description()));
        for (const CLI::Option* option : command->get_options())
            for (const std::string& name : option->get_lnames())
                script += fmt::format(
                    "complete -c cambrian -n '__fish_seen_subcommand_from {}' -l {}{} -d {}\n",
                    command->get_name(), name, option->get_items_expected() > 0 ? " -r" : "",
                    shell_quoted(option->get_description()));
    }
    return script;
}

struct Shell {
    std::string_view name;
    std::string (*script)(const CLI::App&) = nullptr;
};
constexpr std::array shells{Shell{"bash", bash_script}, Shell{"zsh", zsh_script},
                            Shell{"fish", fish_script}};

/// A line of text: what roff would read as its own is kept from it.
std::string roff(const std::string& text) {
    std::string safe = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
    if (!safe.empty() && (safe[0] == '.' || safe[0] == '\'')) safe.insert(0, "\\&");
    return replaced(safe, "\n.", "\n\\&.");
}

std::string option_entry(const CLI::Option& option) {
    return fmt::format(".TP\n\\fB{}\\fR {}\n{}\n", roff(option.get_name(true, true)),
                       roff(option.get_items_expected() > 0 ? option.get_type_name() : ""),
                       roff(option.get_description()));
}

std::string command_section(const CLI::App& command) {
    std::string text = fmt::format(".SS cambrian {}\n{}.\n", roff(command.get_name()),
                                   roff(command.get_description()));
    for (const CLI::Option* option : command.get_options()) text += option_entry(*option);
    return text + fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command.get_footer()));
}

std::string exit_section() {
    std::string text = ".SH EXIT STATUS\n";
    for (const ExitCodeRow& row : exit_codes)
        text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", row.code, roff(std::string(row.meaning)));
    return text;
}

}  // namespace

std::string completion_script(const CLI::App& program, std::string_view shell) {
    std::vector<std::string_view> known;
    for (const Shell& row : shells) {
        if (row.name == shell) return row.script(program);
        known.push_back(row.name);
    }
    throw ConfigError(fmt::format("{} is no shell that is known (known: {}) {}", shell,
                                  joined(known), nearest_hint(shell, known)));
}

std::string manual_page(const CLI::App& program) {
    std::string page = fmt::format(
        ".TH CAMBRIAN 1 \"\" \"cambrian {}.{}.{}\" \"User Commands\"\n"
        ".SH NAME\ncambrian \\- {}\n"
        ".SH SYNOPSIS\n\\fBcambrian\\fR COMMAND [OPTIONS]\n"
        ".PP\n\\fBlaunch/mpi\\fR \\-n RANKS cambrian COMMAND [OPTIONS]\n"
        ".SH DESCRIPTION\n{}\n"
        "Every experiment is one JSON config; \\fBcambrian explain\\fR tells of its keys.\n"
        ".SH COMMANDS\n",
        CAMBRIAN_VERSION_MAJOR, CAMBRIAN_VERSION_MINOR, CAMBRIAN_VERSION_PATCH,
        "evolve neural networks on one rank or many, and train them",
        roff(program.get_description()));
    for (const CLI::App* command : commands_of(program)) page += command_section(*command);
    return page + exit_section();
}

}  // namespace cambrian::launch
