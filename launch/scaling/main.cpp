#include <iostream>

#include "cambrian/launch/process.hpp"
#include "cambrian/launch/scaling/scaling_program.hpp"

int main(int argc, char** argv) {
    cambrian::launch::open_standard_descriptors();
    return cambrian::launch::run_scaling({argv + 1, argv + argc}, std::cout, std::cerr);
}
