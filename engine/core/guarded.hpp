#pragma once

#include <exception>
#include <filesystem>
#include <new>
#include <string>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

// Code of plug-ins and of programs that use the library, called so that nothing it throws ends a
// program without a word.
namespace cambrian {

/// Calls such code. Our own errors pass, and what is `Passing`; others become one that says whose
/// they are.
/// @param failed makes it of a reason.
template <class... Passing, class Failed, class F>
auto guarded_as(const Failed& failed, const F& f) {
    try {
        return f();
    } catch (const Error&) {
        throw;
    } catch (const std::bad_alloc&) {
        throw;  // Whoever called makes do with less.
    } catch (const std::exception& error) {
        if ((false || ... || (dynamic_cast<const Passing*>(&error) != nullptr))) throw;
        throw failed(std::string(error.what()));
    } catch (...) {
        throw failed(std::string("it throws what is no exception"));
    }
}

/// Calls code of a plug-in.
/// @param says_who gives what fails, for a message: `task "mine" of the plug-in "p" fails`.
template <class Who, class F>
auto guarded(const Who& says_who, const F& f) {
    return guarded_as(
        [&](const std::string& why) {
            return ConfigError(says_who() + " (" + why + ") mend the plug-in");
        },
        f);
}

/// What code of somebody's program makes, which may be ours, too: broken contracts pass, and so do
/// errors that name a file. Null is an error.
/// @param part of the program: `task "mine"`.
/// @param mended what is to be mended where it fails: "its factory".
template <class F>
auto made_by(const std::string& part, const char* mended, const F& factory) {
    const auto failed = [&](const std::string& why) {
        return ConfigError(part + " fails (" + why + ") mend " + mended);
    };
    auto made = guarded_as<ContractViolation, std::filesystem::filesystem_error>(failed, factory);
    if (made == nullptr) throw failed("it makes none");
    return made;
}

}  // namespace cambrian
