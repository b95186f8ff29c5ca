#include "cambrian/engine/core/clock.hpp"

#include <time.h>

#include <thread>
#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian {

namespace {

VirtualTime*& of_this_thread() {
    thread_local VirtualTime* time = nullptr;
    return time;
}

}  // namespace

Clock::time_point Clock::now() {
    const VirtualTime* time = VirtualTime::current();
    return time == nullptr ? std::chrono::steady_clock::now() : time->now();
}

void Clock::sleep(duration time) {
    if (VirtualTime* virtual_time = VirtualTime::current()) {
        virtual_time->sleep(time);
    } else {
        std::this_thread::sleep_for(time);
    }
}

Clock::duration Clock::worked() {
    if (VirtualTime* virtual_time = VirtualTime::current()) {
        return virtual_time->worked();
    }
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

VirtualTime* VirtualTime::current() {
    return of_this_thread();
}

VirtualTime* VirtualTime::exchange(VirtualTime* next) {
    return std::exchange(of_this_thread(), next);
}

VirtualTime::Scope::Scope(VirtualTime& time) {
    const VirtualTime* const before = exchange(&time);
    CAMBRIAN_EXPECT(before == nullptr);
}

VirtualTime::Scope::~Scope() {
    exchange(nullptr);
}

}  // namespace cambrian
