#pragma once

#include <cstddef>

#if defined(__has_feature)
#define CAMBRIAN_HAS_FEATURE(name) __has_feature(name)
#else
#define CAMBRIAN_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || CAMBRIAN_HAS_FEATURE(address_sanitizer)
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#define CAMBRIAN_ADDRESS_SANITIZER 1
#else
#define CAMBRIAN_ADDRESS_SANITIZER 0
#endif
#if defined(__SANITIZE_THREAD__) || CAMBRIAN_HAS_FEATURE(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define CAMBRIAN_THREAD_SANITIZER 1
#else
#define CAMBRIAN_THREAD_SANITIZER 0
#endif

namespace cambrian::distributed {

/// What sanitizers are told of a fiber, so that they know whose stack is in use. Nothing without
/// them.
class SanitizedFiber {
  public:
    SanitizedFiber() = default;
    SanitizedFiber(const SanitizedFiber&) = delete;
    SanitizedFiber& operator=(const SanitizedFiber&) = delete;

#if CAMBRIAN_ADDRESS_SANITIZER
    ~SanitizedFiber() = default;
    void adopt_thread() {
        pthread_attr_t attributes;
        pthread_getattr_np(pthread_self(), &attributes);
        void* memory = nullptr;
        pthread_attr_getstack(&attributes, &memory, &bytes_);
        pthread_attr_destroy(&attributes);
        memory_ = memory;
    }
    void create(const void* memory, std::size_t bytes) {
        memory_ = memory;
        bytes_ = bytes;
    }
    /// @param ended nobody comes back.
    void leave(const SanitizedFiber& next, bool ended) {
        __sanitizer_start_switch_fiber(ended ? nullptr : &fake_stack_, next.memory_, next.bytes_);
    }
    void enter() {
        __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
    }

  private:
    void* fake_stack_ = nullptr;
    const void* memory_ = nullptr;
    std::size_t bytes_ = 0;
#elif CAMBRIAN_THREAD_SANITIZER
    ~SanitizedFiber() {
        if (owned_) __tsan_destroy_fiber(fiber_);
    }
    void adopt_thread() {
        fiber_ = __tsan_get_current_fiber();
    }
    void create(const void*, std::size_t) {
        fiber_ = __tsan_create_fiber(0);
        owned_ = true;
    }
    static void leave(const SanitizedFiber& next, bool) {
        __tsan_switch_to_fiber(next.fiber_, 0);
    }
    static void enter() {}

  private:
    void* fiber_ = nullptr;
    bool owned_ = false;
#else
    ~SanitizedFiber() = default;
    static void adopt_thread() {}
    static void create(const void*, std::size_t) {}
    static void leave(const SanitizedFiber&, bool) {}
    static void enter() {}
#endif
};

}  // namespace cambrian::distributed
