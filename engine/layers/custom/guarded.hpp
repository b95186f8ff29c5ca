#pragma once

#include <exception>
#include <new>
#include <string>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {

/// Calls code of a plug-in. Our own errors pass, others become one that says whose they are.
/// @param says_who gives what fails, for a message: `task "mine" of the plug-in "p" fails`.
template <class Who, class F>
auto guarded(const Who& says_who, const F& f) {
    const auto failed = [&](const std::string& why) {
        return ConfigError(says_who() + " (" + why + ") mend the plug-in");
    };
    try {
        return f();
    } catch (const Error&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw;  // Whoever called makes do with less.
    } catch (const std::exception& error) {
        throw failed(error.what());
    } catch (...) {
        throw failed("it throws what is no exception");
    }
}

}  // namespace cambrian
