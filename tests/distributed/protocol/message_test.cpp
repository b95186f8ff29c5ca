#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {
namespace {

ShardScores some_scores() {
    ShardScores shard;
    shard.scores.fitness = {1.0 / 3.0, evolve::worst_fitness};
    shard.scores.status = {evolve::Status::ok, evolve::Status::failed};
    shard.env_steps = 500;
    shard.retries = 2;
    shard.parameters_of_best = 17;
    shard.bytes_of_best = 68;
    return shard;
}

Request some_request() {
    Request request{2, 9, {5, 6}, {{7, some_scores(), {0.1, 0.2, 0.3, 0.4, 1, 2, 3, 4, 5}}}};
    ShardScores logged = some_scores();
    logged.details = {{500, 0}, {17, 18}, {2, 0}};
    request.results.push_back({8, logged, {}});
    return request;
}

ShardOrder some_order() {
    ShardOrder order;
    order.records = {{3, {std::byte{1}, std::byte{2}}, {{5, 1}, {9, 0}}}, {4, {}, {{5, 2}}}};
    order.state = RoundState{{std::byte{3}}, {0, 2}, {{1, 2}, {3, 4}}};
    order.digest = {7, 8};
    order.generation = 4;
    order.shard = 8;
    order.begin = 4;
    order.end = 7;
    order.absent = {2};
    return order;
}

RoundEnd some_round_end() {
    return {3, {4, {std::byte{1}}, {{5, 1}, {9, 0}}}, {6, 7, 8}, {{4, 1}, {0, 0}, {5, 1}}, 11, {1}};
}

const GenomeReply some_reply{{{std::byte{1}}}, {{1, 0, {0.5F, -2.0F}}}, {3}};
const Handshake some_handshake{"0.1.0", {1, 2},   {3, 4},        "cpu fast",
                               "cpu",   "node-3", "NVIDIA H200", 8};

template <typename T>
void expect_round_trip(const T& message) {
    EXPECT_EQ(decode_message<T>(encode_message(message), "rank 1"), message);
}

TEST(Message, EveryKindReadsBackAsItWasWritten) {
    expect_round_trip(some_handshake);
    expect_round_trip(Request{});
    expect_round_trip(some_request());
    Request with_species = some_request();
    with_species.results[0].scores.scores.species = {0, evolve::unmatched};
    with_species.results[1].scores.scores.species = {300, 1};
    expect_round_trip(with_species);
    expect_round_trip(some_order());
    ShardOrder shipped = some_order();
    shipped.children.assign(3, {{std::byte{9}}, 1});
    expect_round_trip(shipped);
    expect_round_trip(ShardOrder{});
    expect_round_trip(some_round_end());
    expect_round_trip(RoundRequest{});
    expect_round_trip(GenomeRequest{{1, 2}});
    expect_round_trip(some_reply);
    expect_round_trip(Heartbeat{{1, 2, 3}});
    expect_round_trip(ShardFailure{5, "it threw", true});
    expect_round_trip(Stop{"the run has ended"});
    expect_round_trip(InitialRequest{});
    expect_round_trip(InitialReply{});
    expect_round_trip(InitialReply{{{std::byte{1}, std::byte{2}}, {std::byte{3}}}});
}

TEST(Message, SharesOfOtherRanksAreRefused) {
    RoundEnd end = some_round_end();
    end.shares.pop_back();
    EXPECT_THROW(static_cast<void>(decode_message<RoundEnd>(encode_message(end), "rank 1")),
                 InputError);
}

TEST(Message, WhoHearsOfARoundPassesItOnUntilAllHaveHeardOnce) {
    for (const std::uint32_t count : {0U, 1U, 10U, 11U, 110U, 111U, 1023U}) {
        RoundEnd end;
        for (std::uint32_t rank = 0; rank < count; ++rank) end.ranks.push_back(3 * rank + 1);
        std::vector<std::uint32_t> heard(end.first().begin(), end.first().end());
        std::size_t most = heard.size();
        for (std::size_t i = 0; i < heard.size(); ++i) {
            const auto others = end.after(heard[i]);
            most = std::max(most, others.size());
            heard.insert(heard.end(), others.begin(), others.end());
        }
        std::ranges::sort(heard);
        EXPECT_EQ(heard, end.ranks);
        EXPECT_LE(most, 10U);
        EXPECT_THAT(end.after(0), testing::IsEmpty());
    }
}

TEST(Message, RanksThatWouldPassARoundOnForEverAreRefused) {
    RoundEnd end = some_round_end();
    end.ranks.front() = end.ranks.back();
    EXPECT_THROW(static_cast<void>(decode_message<RoundEnd>(encode_message(end), "rank 1")),
                 InputError);
}

template <typename T>
std::uint64_t body_hash(const T& message) {
    const std::vector<std::byte> frame = encode_message(message);
    return hash64(detail::unseal(T::kind, frame, "rank 1"));
}

// Other bytes need another version of the frame: ranks of two builds must not misread each other.
TEST(Message, BytesAreThoseOfFrameVersion19) {
    EXPECT_EQ(body_hash(some_handshake), 0xBFA4126CEDA5BEDF);
    EXPECT_EQ(body_hash(some_request()), 0xA429DB427565C608);
    EXPECT_EQ(body_hash(some_order()), 0x11B3E3B22640A3FC);
    ShardOrder shipped = some_order();
    shipped.children.assign(3, {{std::byte{9}}, 1});
    EXPECT_EQ(body_hash(shipped), 0xA6C5ED5CB5CAB6C);
    EXPECT_EQ(body_hash(GenomeRequest{{1, 2}}), 0x837F16AAE6F43577);
    EXPECT_EQ(body_hash(some_reply), 0xC0CDCD9CEE34B0A);
    EXPECT_EQ(body_hash(Heartbeat{{1, 2, 3}}), 0x22C82A48A4097B1D);
    EXPECT_EQ(body_hash(ShardFailure{5, "it threw", true}), 0x9C97B01324286604);
    EXPECT_EQ(body_hash(Stop{"the run has ended"}), 0x7B70B35FECD17A2A);
    const std::vector<std::byte> frame = encode_message(Stop{});
    EXPECT_EQ(body_hash(some_round_end()), 0xD0F2FAC325C3B8A7);
    EXPECT_EQ(body_hash(InitialReply{{{std::byte{1}}, {std::byte{2}, std::byte{3}}}}),
              0xB73D05B6A4AEDE58);
    EXPECT_EQ(frame[4], std::byte{19});
}

TEST(Message, AReplyTellsEachGenomeOnceAndNoMoreStructuresThanGenomes) {
    const std::vector<std::byte> structure{std::byte{1}};
    for (const GenomeReply& bad :
         {GenomeReply{{structure}, {{1, 0, {}}, {1, 0, {}}}, {}},
          GenomeReply{{structure}, {{1, 0, {}}}, {1}}, GenomeReply{{}, {}, {4, 4}},
          GenomeReply{{structure, structure}, {{1, 0, {}}}, {}}})
        EXPECT_THROW((void)decode_message<GenomeReply>(encode_message(bad), "rank 1"), InputError);
}

TEST(Message, AScoreTakesNineBytes) {
    const auto bytes = [](std::size_t births) {
        return encode_message(Request{1, 0, {}, {{7, {evolve::Scores(births), 0, 0, 0, {}}, {}}}})
            .size();
    };
    EXPECT_EQ(bytes(1000) - bytes(0), 9000U);
}

TEST(Message, ASpeciesTakesAByteMoreWhereThereAreFew) {
    const auto bytes = [](std::size_t births, std::uint32_t last) {
        evolve::Scores scores(births);
        scores.species.assign(births, evolve::unmatched);
        scores.species.back() = last;
        return encode_message(Request{1, 0, {}, {{7, {std::move(scores), 0, 0, 0, {}}, {}}}})
            .size();
    };
    EXPECT_EQ(bytes(1000, 254) - bytes(10, 254), 990U * 10);
    EXPECT_EQ(bytes(1000, 255) - bytes(10, 255), 990U * 11);
}

TEST(Message, DetailsTakeAsManyBytesAsTheirNumbersNeed) {
    const auto bytes = [](BirthDetails details) {
        ShardScores shard{evolve::Scores(1000), 0, 0, 0, std::move(details)};
        return encode_message(Request{1, 0, {}, {{7, shard, {}}}}).size();
    };
    BirthDetails details{std::vector<std::uint64_t>(1000, 5), std::vector<std::uint64_t>(1000, 98),
                         std::vector<std::uint32_t>(1000, 0)};
    const std::size_t none = bytes({});
    EXPECT_EQ(bytes(details) - none, 27U);
    details.env_steps[3] = 2500;
    details.parameters[4] = 300;
    details.retries[5] = 7;
    EXPECT_EQ(bytes(details) - none, 27U + 4000U);
}

TEST(Message, ARangeOfBirthsTakesNoMoreThanOne) {
    ShardOrder one = some_order();
    ShardOrder many = some_order();
    one.end = one.begin + 1;
    many.end = many.begin + 1'000'000;
    EXPECT_EQ(encode_message(one).size(), encode_message(many).size());
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
    expect_bounded(some_round_end());
    expect_bounded(some_reply);
    expect_bounded(InitialReply{{{std::byte{1}, std::byte{2}}, {std::byte{3}}}});
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

TEST(Message, ImpossibleRangesAreRefused) {
    ShardOrder backwards = some_order();
    backwards.end = backwards.begin - 1;
    ShardOrder uneven = some_order();
    uneven.children.resize(2);
    for (const ShardOrder& order : {backwards, uneven}) {
        EXPECT_THROW(
            static_cast<void>(decode_message<ShardOrder>(encode_message(order), "the coordinator")),
            InputError);
    }
}

}  // namespace
}  // namespace cambrian::distributed
