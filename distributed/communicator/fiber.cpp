#include "cambrian/distributed/communicator/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cambrian/distributed/communicator/fiber_sanitizer.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

namespace {

// As threads have by default; pages that are never touched take no memory.
constexpr std::size_t stack_bytes = std::size_t{8} << 20U;

/// A stack whose last page cannot be touched, so that a function which needs more is found out.
class Stack {
  public:
    Stack() {
        memory_ = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (memory_ == MAP_FAILED) refuse();
        // Stacks grow downwards.
        if (mprotect(memory_, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), PROT_NONE) != 0) {
            munmap(memory_, stack_bytes);
            refuse();
        }
    }
    ~Stack() { munmap(memory_, stack_bytes); }
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;

    [[nodiscard]] void* memory() const { return memory_; }

  private:
    [[noreturn]] static void refuse() {
        throw DeviceError(
            fmt::format("a rank has no memory for its stack (the system refuses {} MiB: {}) "
                        "simulate fewer ranks, or raise the limit on memory (ulimit -v)",
                        stack_bytes >> 20U, std::generic_category().message(errno)));
    }
    void* memory_;
};

/// The exceptions that are on their way, as the language's runtime keeps them for a thread: each
/// fiber has its own (Itanium C++ ABI, exception handling, 2.2.2).
struct Exceptions {
    void* caught = nullptr;
    unsigned int uncaught = 0;

    static Exceptions exchange(const Exceptions& next) {
        Exceptions now;
        auto* const globals = abi::__cxa_get_globals();
        std::memcpy(&now.caught, globals, sizeof(now.caught));
        auto* const count = reinterpret_cast<std::byte*>(globals) + sizeof(now.caught);
        std::memcpy(&now.uncaught, count, sizeof(now.uncaught));
        std::memcpy(globals, &next.caught, sizeof(next.caught));
        std::memcpy(count, &next.uncaught, sizeof(next.uncaught));
        return now;
    }
};

}  // namespace

struct Fiber::State {
    ucontext_t context{};
    std::function<Fiber&()> body;
    std::unique_ptr<Stack> stack;  ///< None: the thread's own.
    SanitizedFiber sanitized;
    Exceptions exceptions;
    enum class Stage : std::uint8_t { waits, runs, ended };
    Stage stage = Stage::waits;  ///< Of the body.
};

Fiber::Fiber() : state_(std::make_unique<State>()) {
    state_->sanitized.adopt_thread();
}

Fiber::Fiber(std::function<Fiber&()> body) : state_(std::make_unique<State>()) {
    state_->body = std::move(body);
    state_->stack = std::make_unique<Stack>();
    state_->sanitized.create(state_->stack->memory(), stack_bytes);
    getcontext(&state_->context);
    state_->context.uc_stack.ss_sp = state_->stack->memory();
    state_->context.uc_stack.ss_size = stack_bytes;
    state_->context.uc_link = nullptr;
    const auto self = std::bit_cast<std::uintptr_t>(this);
    // makecontext() hands on numbers of 32 bits.
    makecontext(&state_->context, reinterpret_cast<void (*)()>(&Fiber::begin), 2,
                static_cast<unsigned>(std::uint64_t{self} >> 32U), static_cast<unsigned>(self));
}

Fiber::~Fiber() {
    CAMBRIAN_EXPECT(state_->stage != State::Stage::runs);
}

void Fiber::switch_to(Fiber& next) {
    State& to = *next.state_;
    state_->exceptions = Exceptions::exchange(to.exceptions);
    state_->sanitized.leave(to.sanitized, state_->stage == State::Stage::ended);
    swapcontext(&state_->context, &to.context);
    state_->sanitized.enter();
}

void Fiber::begin(unsigned high, unsigned low) {
    auto* const self = std::bit_cast<Fiber*>(
        static_cast<std::uintptr_t>(std::uint64_t{high} << 32U | std::uint64_t{low}));
    self->state_->sanitized.enter();
    self->state_->stage = State::Stage::runs;
    Fiber& next = self->state_->body();
    self->state_->stage = State::Stage::ended;
    self->switch_to(next);
}

}  // namespace cambrian::distributed
