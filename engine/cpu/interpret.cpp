#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/cpu/kernel_table.hpp"

namespace cambrian::cpu {

std::unique_ptr<Step> make_interpret(const Site&) {
    CAMBRIAN_ASSERT(false);
    return nullptr;
}

}  // namespace cambrian::cpu
