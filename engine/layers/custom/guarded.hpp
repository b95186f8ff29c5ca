#pragma once

#include <exception>
#include <filesystem>
#include <new>
#include <string>

#include "cambrian/engine/core/contract.hpp"
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

/// What a factory of somebody's program makes. Null is an error, and so is what it throws but for
/// errors and contracts of Cambrian.
/// @param part of the program: `task "mine"`.
template <class F>
auto made_by_factory(const std::string& part, const F& factory) {
    const auto failed = [&](const std::string& why) {
        return ConfigError(part + " fails (" + why + ") mend its factory");
    };
    decltype(factory()) made;
    try {
        made = factory();
    } catch (const Error&) {
        throw;
    } catch (const ContractViolation&) {
        throw;
    } catch (const std::filesystem::filesystem_error&) {
        throw;  // Names the file.
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& error) {
        throw failed(error.what());
    } catch (...) {
        throw failed("it throws what is no exception");
    }
    if (made == nullptr) throw failed("it makes none");
    return made;
}

}  // namespace cambrian
