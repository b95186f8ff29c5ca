#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {
namespace {

evolve::Outcome some_outcome() {
    evolve::Outcome outcome;
    outcome.id = 42;
    outcome.fitness = 1.0 / 3.0;
    outcome.objectives = {1.0, -2.5};
    outcome.per_sample = {0.25};
    outcome.env_steps = 500;
    outcome.parameters = 17;
    outcome.retries = 2;
    outcome.genome = {0x0123456789ABCDEF, 99};
    return outcome;
}

Request some_request() {
    evolve::Outcome failed;
    failed.id = 43;
    failed.status = evolve::Status::failed;
    return {2, {{7, {some_outcome(), failed}, {0.1, 0.2, 0.3, 0.4}}}};
}

ShardOrder some_order() {
    ShardOrder order;
    order.shard = 8;
    order.generation = 3;
    order.parents = {{1, {5, 6}, 0.5, 0}, {2, {7, 8}, -1.0, 1}};
    order.births = {{3, evolve::Recipe::sample, {}},
                    {4, evolve::Recipe::carry, {order.parents[1]}},
                    {5, evolve::Recipe::vary, {order.parents[0], order.parents[1]}}};
    order.recipes = {{2, evolve::Recipe::vary, {{0, {9, 10}, 0.25}}}};
    order.genomes = {{std::byte{1}, std::byte{2}}, {}};
    order.survivors = {{5, 6}};
    return order;
}

template <typename T>
void expect_round_trip(const T& message) {
    EXPECT_EQ(decode_message<T>(encode_message(message), "rank 1"), message);
}

TEST(Message, EveryKindReadsBackAsItWasWritten) {
    expect_round_trip(Handshake{"0.1.0", {1, 2}, "cpu fast", "cpu", "node-3", "NVIDIA H200", 8});
    expect_round_trip(Request{});
    expect_round_trip(some_request());
    expect_round_trip(some_order());
    ShardOrder shipped = some_order();
    shipped.children.assign(3, {{std::byte{9}}, 1});
    expect_round_trip(shipped);
    expect_round_trip(GenomeRequest{{{1, 2}, {3, 4}}});
    expect_round_trip(GenomeReply{{{{1, 2}, {std::byte{1}}}}, {{3, 4}}});
    expect_round_trip(Heartbeat{{1, 2, 3}});
    expect_round_trip(ShardFailure{5, "it threw", true});
    expect_round_trip(Stop{"the run has ended"});
    expect_round_trip(InitialRequest{});
    expect_round_trip(InitialReply{});
    expect_round_trip(InitialReply{{std::byte{1}, std::byte{2}}});
}

template <typename T>
std::uint64_t body_hash(const T& message) {
    const std::vector<std::byte> frame = encode_message(message);
    return hash64(detail::unseal(T::kind, frame, "rank 1"));
}

// Other bytes need another version of the frame: ranks of two builds must not misread each other.
TEST(Message, BytesAreThoseOfFrameVersion5) {
    EXPECT_EQ(body_hash(Handshake{"0.1.0", {1, 2}, "cpu fast", "cpu", "node-3", "NVIDIA H200", 8}),
              0xE812551281AD231C);
    EXPECT_EQ(body_hash(some_request()), 0xB5C8FCCC37E6587C);
    EXPECT_EQ(body_hash(some_order()), 0xF5505A5D070E7587);
    ShardOrder shipped = some_order();
    shipped.children.assign(3, {{std::byte{9}}, 1});
    EXPECT_EQ(body_hash(shipped), 0x77392546791AB4F9);
    EXPECT_EQ(body_hash(GenomeRequest{{{1, 2}, {3, 4}}}), 0xEFB455DF7734B02D);
    EXPECT_EQ(body_hash(GenomeReply{{{{1, 2}, {std::byte{1}}}}, {{3, 4}}}), 0xED2643609827BD7C);
    EXPECT_EQ(body_hash(Heartbeat{{1, 2, 3}}), 0xAB3FE0C4EDD1F514);
    EXPECT_EQ(body_hash(ShardFailure{5, "it threw", true}), 0x9C97B01324286604);
    EXPECT_EQ(body_hash(Stop{"the run has ended"}), 0x7B70B35FECD17A2A);
    const std::vector<std::byte> frame = encode_message(Stop{});
    EXPECT_EQ(frame[4], std::byte{5});
}

TEST(Message, EmptyArraysOfAnOutcomeAreNotSent) {
    const auto bytes = [](const evolve::Outcome& outcome) {
        return encode_message(Request{1, {{7, {evolve::Outcome{}, outcome}, {}}}}).size() -
               encode_message(Request{1, {{7, {evolve::Outcome{}}, {}}}}).size();
    };
    constexpr std::size_t word = 8;
    EXPECT_EQ(bytes({}), 9 * word);
    evolve::Outcome outcome;
    outcome.behaviour = {0.5};
    EXPECT_EQ(bytes(outcome), (9 + 2) * word);
    EXPECT_EQ(bytes(some_outcome()), (9 + 3 + 2) * word);
}

TEST(Message, OutcomesAreReadTheSameOnManyThreads) {
    Request request = some_request();
    std::vector<evolve::Outcome>& outcomes = request.results.front().outcomes;
    for (std::uint64_t id = 100; id < 5000; ++id) {
        outcomes.push_back(some_outcome());
        outcomes.back().id = id;
        outcomes.back().per_sample.resize(id % 3, 0.5);
    }
    ThreadPool threads(3);
    EXPECT_EQ(decode_request(encode_message(request), "rank 1", threads), request);
    expect_round_trip(request);
}

TEST(Message, AnyChangedByteIsAnInputError) {
    const std::vector<std::byte> whole = encode_message(some_request());
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::vector<std::byte> bad = whole;
        bad[at] ^= std::byte{0x10};
        EXPECT_THROW(static_cast<void>(decode_message<Request>(bad, "rank 1")), InputError) << at;
    }
}

TEST(Message, AnyOtherLengthIsAnInputError) {
    const std::vector<std::byte> whole = encode_message(some_order());
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const std::span<const std::byte> part = std::span(whole).first(length);
        EXPECT_THROW(static_cast<void>(decode_message<ShardOrder>(part, "rank 1")), InputError);
    }
    std::vector<std::byte> longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_THROW(static_cast<void>(decode_message<ShardOrder>(longer, "rank 1")), InputError);
}

/// Changes each byte of a body in turn and seals it again, so that only the readers' bounds are
/// left.
template <typename T>
void expect_bounded(const T& message) {
    const std::vector<std::byte> whole = encode_message(message);
    const std::span<const std::byte> body = detail::unseal(T::kind, whole, "rank 1");
    std::size_t refused = 0;
    for (std::size_t at = 0; at < body.size(); ++at) {
        for (unsigned change : {0x01U, 0x10U, 0xFFU}) {
            std::vector<std::byte> bad(body.begin(), body.end());
            bad[at] ^= std::byte{static_cast<unsigned char>(change)};
            try {
                EXPECT_NE(decode_message<T>(detail::seal(T::kind, bad), "rank 1"), message);
            } catch (const InputError&) {
                ++refused;
            }
        }
    }
    EXPECT_GT(refused, 0U);
}

TEST(Message, BodiesWithAGoodChecksumAreStillReadWithinBounds) {
    expect_bounded(some_request());
    expect_bounded(some_order());
    expect_bounded(GenomeReply{{{{1, 2}, {std::byte{1}}}}, {{3, 4}}});
    expect_bounded(InitialReply{{std::byte{1}, std::byte{2}}});
}

TEST(Message, AnotherKindIsRefusedWithTheSender) {
    const std::vector<std::byte> stop = encode_message(Stop{"end"});
    EXPECT_THAT([&] { static_cast<void>(decode_message<Heartbeat>(stop, "rank 3 on node-7")); },
                testing::ThrowsMessage<InputError>(testing::HasSubstr("rank 3 on node-7")));
}

TEST(Message, CountsThatTheBodyCannotHoldAreRefusedBeforeAllocation) {
    ArchiveWriter body;
    body.write(std::uint32_t{1});
    body.write(std::uint64_t{1} << 60U);
    const auto frame = detail::seal(MessageKind::request, body.take());
    EXPECT_THROW(static_cast<void>(decode_message<Request>(frame, "rank 1")), InputError);
}

TEST(Message, BirthsWithImpossibleParentsAreRefused) {
    ShardOrder orphan = some_order();
    orphan.births[1].parents.clear();
    EXPECT_THROW(
        static_cast<void>(decode_message<ShardOrder>(encode_message(orphan), "the coordinator")),
        InputError);
    ShardOrder stranger = some_order();
    stranger.parents.pop_back();
    EXPECT_THROW(
        static_cast<void>(decode_message<ShardOrder>(encode_message(stranger), "the coordinator")),
        InputError);
    ShardOrder uneven = some_order();
    uneven.children.resize(2);
    EXPECT_THROW(
        static_cast<void>(decode_message<ShardOrder>(encode_message(uneven), "the coordinator")),
        InputError);
}

}  // namespace
}  // namespace cambrian::distributed
