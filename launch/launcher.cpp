#include "cambrian/launch/launcher.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace cambrian::launch {
namespace {

std::optional<int> first_number(std::initializer_list<const char*> names) {
    for (const char* name : names) {
        const char* value = std::getenv(name);
        if (value == nullptr) continue;
        const std::string_view text(value);
        int number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error == std::errc() && end == text.data() + text.size()) return number;
    }
    return std::nullopt;
}

}  // namespace

bool under_launcher() {
    // A shell inside a Slurm allocation has SLURM_PROCID too; only a step was started by srun.
    for (const char* name :
         {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"})
        if (std::getenv(name) != nullptr) return true;
    return false;
}

int launcher_rank() {
    if (!under_launcher()) return 0;
    return first_number({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
        .value_or(0);
}

int launcher_local_rank() {
    if (!under_launcher()) return 0;
    return std::max(0,
                    first_number({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
                        .value_or(0));
}

int launcher_local_size() {
    if (!under_launcher()) return 1;
    return std::max(
        1, first_number({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"})
               .value_or(1));
}

}  // namespace cambrian::launch
