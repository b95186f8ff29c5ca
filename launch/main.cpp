#include "cambrian/launch/main.hpp"

int main(int argc, char** argv) {
    return cambrian::main(argc, argv, cambrian::evolve::standard_tasks());
}
