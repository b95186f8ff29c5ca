#include <iostream>

#include "cambrian/launch/process.hpp"
#include "cambrian/launch/scaling/scaling_program.hpp"

#ifdef CAMBRIAN_JEMALLOC
/// Read by jemalloc. Simulated ranks share a heap, and a generation of theirs takes seconds here:
/// what it did meanwhile for all of them would be charged to one. So memory stays, and goes to
/// whoever needs some.
extern "C" const char* malloc_conf;
const char* malloc_conf =
    "dirty_decay_ms:-1,muzzy_decay_ms:-1,narenas:1,tcache_max:4194304,lg_extent_max_active_fit:40";
#endif

int main(int argc, char** argv) {
    cambrian::launch::open_standard_descriptors();
    return cambrian::launch::run_scaling({argv + 1, argv + argc}, std::cout, std::cerr);
}
