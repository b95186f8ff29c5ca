#pragma once

#include <stdexcept>
#include <string>

namespace cambrian {

/// A broken promise inside our own code: a bug of Cambrian, never of the user.
class ContractViolation : public std::logic_error {
  public:
    using std::logic_error::logic_error;
};

namespace detail {
[[noreturn, gnu::cold, gnu::noinline]] inline void contract_failed(const char* kind,
                                                                   const char* condition,
                                                                   const char* file, int line) {
    throw ContractViolation(std::string(file) + ":" + std::to_string(line) + ": " + kind + " `" +
                            condition + "` (a promise inside Cambrian is broken) report this bug");
}
}  // namespace detail

}  // namespace cambrian

// Every build checks contracts: a broken one is an error, never a wrong number.

/// Precondition of our own code.
#define CAMBRIAN_EXPECT(condition) \
    ((condition)                   \
         ? void()                  \
         : ::cambrian::detail::contract_failed("expected", #condition, __FILE__, __LINE__))
/// Postcondition of our own code.
#define CAMBRIAN_ENSURE(condition) \
    ((condition) ? void()          \
                 : ::cambrian::detail::contract_failed("ensured", #condition, __FILE__, __LINE__))
/// What holds between them.
#define CAMBRIAN_ASSERT(condition) \
    ((condition)                   \
         ? void()                  \
         : ::cambrian::detail::contract_failed("asserted", #condition, __FILE__, __LINE__))
