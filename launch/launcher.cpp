#include "cambrian/launch/launcher.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

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

namespace {

/// The file of launch/mpi for the exit code; empty without it, or where it is on another host.
std::string status_file() {
    const char* path = std::getenv("CAMBRIAN_STATUS_FILE");
    std::error_code error;
    return path != nullptr && std::filesystem::exists(path, error) ? path : "";
}

/// For launch/mpi: into its file, or from another host on a line that it heeds.
void record(const std::string& text) {
    const char* told = std::getenv("CAMBRIAN_STATUS_FILE");
    if (told == nullptr || *told == '\0') return;
    if (const std::string path = status_file(); !path.empty())
        std::ofstream(path, std::ios::trunc) << text << '\n';
    else
        std::cerr << "cambrian status: " << text << std::endl;
}

}  // namespace

std::string file_of_failed_start() {
    const std::string path = status_file();
    return path.empty() ? path : path + ".not-started";
}

void record_start() {
    record("");
}

void record_exit_code(int exit_code) {
    record(std::to_string(exit_code));
}

}  // namespace cambrian::launch
