#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/number_text.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/individual_log.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/output_file.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;
using distributed::IndividualBlock;
using distributed::LoggedIndividual;

constexpr const char* header =
    "generation,id,recipe,parents,status,fitness,evaluations,env_steps,parameters,redrawn,origin";

/// Generations from the first to the last one that are asked for.
struct Generations {
    std::uint64_t first = 0;
    std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
};

bool read_number(std::string_view text, std::uint64_t& number) {
    const auto found = number_in<std::uint64_t>(text);
    number = found.value_or(number);
    return found.has_value();
}

Generations generations_of(const std::string& text) {
    Generations asked;
    if (text.empty()) return asked;
    const std::string_view all(text);
    const std::size_t dash = all.find('-');
    const std::string_view last = dash == std::string_view::npos ? all : all.substr(dash + 1);
    if (!read_number(all.substr(0, dash), asked.first) || !read_number(last, asked.last) ||
        asked.first > asked.last)
        throw ConfigError(fmt::format(
            "--generation is \"{}\" (it is one number, or two rising ones) give it as 7, or 7-9",
            text));
    return asked;
}

void append_row(fmt::memory_buffer& text, const IndividualBlock& block,
                const LoggedIndividual& individual) {
    auto at = std::back_inserter(text);
    fmt::format_to(at, "{},{},{},", block.generation, individual.id, name(individual.recipe));
    for (std::size_t i = 0; i < individual.parent_count; ++i)
        fmt::format_to(at, "{}{}", i == 0 ? "" : ";", individual.parents.at(i));
    fmt::format_to(at, ",{},{},", name(individual.status), individual.fitness);
    if (individual.evaluated) {
        fmt::format_to(at, "1,{},{},{},", individual.env_steps, individual.parameters,
                       individual.retries);
    } else {
        fmt::format_to(at, "0,0,,0,");
    }
    fmt::format_to(at, "{}", individual.origin);
    if (block.islands) fmt::format_to(at, ",{}", individual.island);
    if (block.species)
        fmt::format_to(at, ",{}",
                       individual.species > 0 ? fmt::format("{}", individual.species) : "");
    text.push_back('\n');
}

void write_block(Destination& rows, const IndividualBlock& block) {
    fmt::memory_buffer text;
    for (const LoggedIndividual& individual : block.individuals)
        append_row(text, block, individual);
    rows.write(std::string_view(text.data(), text.size()));
}

}  // namespace

int individuals_command(const CommandContext& context, const IndividualsOptions& options) {
    const Generations asked = generations_of(options.generation);
    const fs::path file = distributed::individual_log_in(options.directory);
    Destination rows(context, options.csv, {file.string()});
    distributed::IndividualReader reader(file);
    rows.write(fmt::format("{}{}{}\n", header, reader.islands() ? ",island" : "",
                           reader.species() ? ",species" : ""));
    for (auto block = reader.next(); block && block->generation <= asked.last;
         block = reader.next()) {
        if (block->generation >= asked.first) write_block(rows, *block);
    }
    rows.finish();
    if (reader.cut_short())
        context.err << fmt::format(
            "warning: {} ends within a generation, which is left out (its run is writing it, or "
            "was killed; 'cambrian resume' mends it)\n",
            file.string());
    return exit_done;
}

}  // namespace cambrian::launch
