#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

#include "cambrian/engine/cpu/execution/nest.hpp"

namespace cambrian::cpu {

/// The innermost loop of an elementwise kernel: view 0 is the result, then the operands.
using Loop = void (*)(const Pointers& pointers, std::int64_t length, const Nest::Strides& strides);

/// The loops of one scalar function: one for each choice of operands that advance by a word (bit
/// set) or stay (bit clear), and one for any strides.
struct LoopSet {
    std::array<Loop, 8> contiguous{};
    Loop strided = nullptr;
};

namespace detail {

template <class Function, class Signature>
struct Lift;

template <class Function, class Result, class... Elements>
struct Lift<Function, Result(Elements...)> {
    static constexpr std::size_t arity = sizeof...(Elements);

    /// An operand that stays is read once, before the loop.
    template <unsigned mask, std::size_t index, class Element>
    struct Operand {
        const Element* data;
        Element first;
        explicit Operand(const Word* words)
            : data(reinterpret_cast<const Element*>(words)), first(*data) {}
        Element operator[](std::int64_t i) const {
            return (mask >> index & 1U) != 0 ? data[i] : first;
        }
    };

    template <unsigned mask, std::size_t... index>
    static void loop(const Pointers& pointers, std::int64_t length, std::index_sequence<index...>) {
        if (length == 0) {
            return;
        }
        Result* __restrict__ result = reinterpret_cast<Result*>(pointers[0]);
        const std::tuple<Operand<mask, index, Elements>...> operands{
            Operand<mask, index, Elements>(pointers[index + 1])...};
        // The planner never lets a result overlap an operand of its own node.
#pragma GCC ivdep
        for (std::int64_t i = 0; i < length; ++i) {
            result[i] = Function{}(std::get<index>(operands)[i]...);
        }
    }

    template <unsigned mask>
    static void contiguous(const Pointers& pointers, std::int64_t length, const Nest::Strides&) {
        loop<mask>(pointers, length, std::index_sequence_for<Elements...>{});
    }

    template <std::size_t... index>
    static void any(const Pointers& pointers, std::int64_t length, const Nest::Strides& strides,
                    std::index_sequence<index...>) {
        Result* result = reinterpret_cast<Result*>(pointers[0]);
        for (std::int64_t i = 0; i < length; ++i) {
            result[i * strides[0]] = Function{}(
                reinterpret_cast<const Elements*>(pointers[index + 1])[i * strides[index + 1]]...);
        }
    }

    static void strided(const Pointers& pointers, std::int64_t length,
                        const Nest::Strides& strides) {
        any(pointers, length, strides, std::index_sequence_for<Elements...>{});
    }

    template <unsigned... masks>
    static constexpr LoopSet rows(std::integer_sequence<unsigned, masks...>) {
        LoopSet set;
        ((set.contiguous[masks] = masks == 0 ? &strided : &contiguous<masks>), ...);
        set.strided = &strided;
        return set;
    }
};

}  // namespace detail

/// Lifts a stateless scalar function to rows: lift<float(float)>([](float x) { return -x; }).
template <class Signature, class Function>
constexpr LoopSet lift(Function) {
    using Lifted = detail::Lift<Function, Signature>;
    return Lifted::rows(std::make_integer_sequence<unsigned, 1U << Lifted::arity>{});
}

/// The loop for operands that advance by these words; the result advances by strides[0].
[[nodiscard]] Loop pick_loop(const LoopSet& rows, const Nest::Strides& strides,
                             std::size_t operands);

/// An elementwise kernel over the rows of a scalar function.
[[nodiscard]] std::unique_ptr<Kernel> make_elementwise(const KernelContext& context,
                                                       const LoopSet& rows);

}  // namespace cambrian::cpu
