#include "cambrian/distributed/communicator/fiber.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <deque>
#include <exception>
#include <stdexcept>
#include <string>

#include "cambrian/distributed/communicator/fiber_sanitizer.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {
namespace {

TEST(Fiber, TakesTurnsWithOthers) {
    Fiber thread;
    std::string turns;
    std::deque<Fiber> fibers;
    for (const char name : {'a', 'b', 'c'})
        fibers.emplace_back([&, name]() -> Fiber& {
            turns += name;
            fibers[static_cast<std::size_t>(name - 'a')].switch_to(thread);
            turns += name;
            return thread;
        });
    for (int round = 0; round < 2; ++round) {
        for (Fiber& fiber : fibers) thread.switch_to(fiber);
        turns += '.';
    }
    EXPECT_EQ(turns, "abc.abc.");
}

TEST(Fiber, GoesOnWithWhomTheLastOneNames) {
    Fiber thread;
    std::string turns;
    Fiber second([&]() -> Fiber& {
        turns += "second";
        return thread;
    });
    Fiber first([&]() -> Fiber& {
        turns += "first ";
        return second;
    });
    thread.switch_to(first);
    EXPECT_EQ(turns, "first second");
}

TEST(Fiber, HasExceptionsOfItsOwn) {
    /// Lets the thread go on while an exception passes.
    struct Switching {
        Fiber& from;
        Fiber& to;
        ~Switching() {
            from.switch_to(to);
            EXPECT_EQ(std::uncaught_exceptions(), 1);
        }
    };
    Fiber thread;
    std::string caught;
    Fiber* own = nullptr;
    Fiber fiber([&]() -> Fiber& {
        try {
            try {
                const Switching switching{*own, thread};
                throw std::runtime_error("its own");
            } catch (const std::exception&) {
                own->switch_to(thread);
                throw;
            }
        } catch (const std::exception& error) {
            caught = error.what();
        }
        return thread;
    });
    own = &fiber;
    for (int turn = 0; turn < 3; ++turn) {
        thread.switch_to(fiber);
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        EXPECT_EQ(std::current_exception(), nullptr);
        EXPECT_THROW(throw std::logic_error("another"), std::logic_error);
    }
    EXPECT_EQ(caught, "its own");
}

TEST(Fiber, SaysThatItHasNoMemory) {
#if CAMBRIAN_ADDRESS_SANITIZER || CAMBRIAN_THREAD_SANITIZER
    GTEST_SKIP() << "a sanitizer needs memory of its own";
#endif
    rlimit before{};
    getrlimit(RLIMIT_AS, &before);
    const rlimit none{1, before.rlim_max};
    setrlimit(RLIMIT_AS, &none);
    std::string said;
    try {
        const Fiber fiber([]() -> Fiber& { std::terminate(); });
    } catch (const DeviceError& error) {
        said = error.what();
    }
    setrlimit(RLIMIT_AS, &before);
    EXPECT_THAT(said, ::testing::HasSubstr("a rank has no memory for its stack"));
}

}  // namespace
}  // namespace cambrian::distributed
