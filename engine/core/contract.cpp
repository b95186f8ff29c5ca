#include "cambrian/engine/core/contract.hpp"

#include <string>

namespace cambrian::detail {

void contract_failed(const char* kind, const char* condition, const char* file, int line) {
    throw ContractViolation(std::string(file) + ":" + std::to_string(line) + ": " + kind + " `" +
                            condition + "` (a promise inside Cambrian is broken) report this bug");
}

}  // namespace cambrian::detail
