#include "cambrian/engine/io/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"

namespace cambrian {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::byte> file(std::string_view header, std::size_t data) {
    std::vector<std::byte> bytes(8 + header.size() + data);
    const std::uint64_t length = header.size();
    std::memcpy(bytes.data(), &length, 8);
    std::memcpy(bytes.data() + 8, header.data(), header.size());
    return bytes;
}

Safetensors sample_tensors() {
    Safetensors content;
    content.metadata["format"] = "pt";
    content.metadata["who"] = "caf\u00e9";
    std::vector<double> values{0, 1, -2, 3, 100, -7, 0.3, -0.0};
    for (const StoredTypeRow& stored : stored_types())
        content.tensors.emplace(
            "of." + std::string(stored.name),
            StoredTensor::of(Tensor(ValueType::real, Shape{4, 2}, values), stored.type));
    content.tensors.emplace("number", StoredTensor::of(Tensor::scalar(0.1)));
    content.tensors.emplace("nothing", StoredTensor::of(Tensor(ValueType::integer, Shape{4, 0})));
    return content;
}

TEST(Safetensors, ComeBackAsTheyWere) {
    const Safetensors content = sample_tensors();
    const std::vector<std::byte> bytes = encode(content);
    EXPECT_EQ(decode_safetensors(bytes, "it"), content);
    EXPECT_EQ(encode(decode_safetensors(bytes, "it")), bytes);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), 8);
    EXPECT_EQ(header % 8, 0U) << "data is aligned";
    EXPECT_EQ(decode_safetensors(encode(Safetensors()), "it"), Safetensors());

    const auto path = std::filesystem::path(testing::TempDir()) / "cambrian_sample.safetensors";
    write_safetensors(path, content);
    EXPECT_EQ(read_safetensors(path), content);
    std::filesystem::remove(path);
}

TEST(Safetensors, AreReadAsOthersWriteThem) {
    std::vector<std::byte> bytes =
        file(R"({"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]},)"
             R"("n":{"dtype":"I16","shape":[2],"data_offsets":[0,4]}}   )",
             12);
    const std::int16_t integers[] = {-3, 300};
    const float reals[] = {0.5F, -8.0F};
    std::memcpy(bytes.data() + bytes.size() - 12, integers, 4);
    std::memcpy(bytes.data() + bytes.size() - 8, reals, 8);
    const Safetensors content = decode_safetensors(bytes, "it");
    EXPECT_EQ(content.metadata.at("a"), "b");
    EXPECT_THAT(content.at("n").tensor().elements, ElementsAre(-3, 300));
    EXPECT_EQ(content.at("n").tensor().type, ValueType::integer);
    EXPECT_EQ(content.at("x").tensor(), Tensor(ValueType::real, Shape{2, 1}, {0.5, -8.0}));
    EXPECT_THAT([&] { (void)content.at("y"); },
                ThrowsMessage<InputError>(HasSubstr("no tensor \"y\" (the file has n, x)")));
}

/// A number as it comes back from a type; four of it, for types of less than a byte.
double stored(StoredType type, double value) {
    const Tensor four(ValueType::real, Shape{2, 2}, {value, value, value, value});
    const Tensor back = StoredTensor::of(four, type).tensor();
    for (const double element : back.elements)
        EXPECT_TRUE(element == back.elements[0] || std::isnan(element)) << element;
    return back.elements[0];
}

TEST(Safetensors, StoredNumbersAreTheNearestOfTheirType) {
    const double huge = std::numeric_limits<double>::max();
    EXPECT_EQ(stored(StoredType::f64, 0.1), 0.1);
    EXPECT_EQ(stored(StoredType::f32, 0.1), static_cast<double>(0.1F));
    EXPECT_EQ(stored(StoredType::bf16, 1.0 + 0x1p-8), 1.0);
    EXPECT_EQ(stored(StoredType::f16, 0.1), 0x1.998p-4);
    EXPECT_EQ(stored(StoredType::f8_e4m3, 1000.0), 448.0);
    EXPECT_EQ(stored(StoredType::f8_e5m2, -1000.0), -1024.0);
    EXPECT_EQ(stored(StoredType::u8, 254.5), 254.0);
    EXPECT_EQ(stored(StoredType::u8, -4.0), 0.0);
    EXPECT_EQ(stored(StoredType::i8, -1e9), -128.0);
    EXPECT_EQ(stored(StoredType::i64, huge), std::ldexp(1.0, 63));
    EXPECT_EQ(stored(StoredType::i64, -huge), -std::ldexp(1.0, 63));
    EXPECT_EQ(stored(StoredType::u64, huge), std::ldexp(1.0, 64));
    EXPECT_EQ(stored(StoredType::i32, std::nan("")), 0.0);
    EXPECT_EQ(stored(StoredType::boolean, 0.25), 1.0);
    EXPECT_EQ(stored(StoredType::f4, -2.6), -3.0);
    EXPECT_EQ(stored(StoredType::f4, huge), 6.0);
    EXPECT_EQ(stored(StoredType::f6_e2m3, 1.0625), 1.0) << "a tie goes to the even code";
    EXPECT_EQ(stored(StoredType::f6_e2m3, -0.125), -0.125) << "the least";
    EXPECT_EQ(stored(StoredType::f6_e2m3, huge), 7.5);
    EXPECT_EQ(stored(StoredType::f6_e3m2, 0.0625), 0.0625) << "the least";
    EXPECT_EQ(stored(StoredType::f6_e3m2, -huge), -28.0);
    EXPECT_EQ(stored(StoredType::f8_e4m3fnuz, 1000.0), 240.0);
    EXPECT_EQ(stored(StoredType::f8_e4m3fnuz, 0x1p-10), 0x1p-10) << "the least";
    EXPECT_EQ(stored(StoredType::f8_e5m2fnuz, -huge), -57344.0);
    EXPECT_EQ(stored(StoredType::f8_e5m2fnuz, 0x1p-17), 0x1p-17) << "the least";
    EXPECT_FALSE(std::signbit(stored(StoredType::f8_e4m3fnuz, -0.0)));
    EXPECT_TRUE(std::isnan(stored(StoredType::f8_e4m3fnuz, std::nan(""))));
    EXPECT_TRUE(std::isnan(stored(StoredType::f8_e5m2fnuz, std::nan(""))));
    EXPECT_EQ(stored(StoredType::f8_e8m0, 11.0), 8.0);
    EXPECT_EQ(stored(StoredType::f8_e8m0, 12.0), 16.0) << "a tie goes up";
    EXPECT_EQ(stored(StoredType::f8_e8m0, -1.0), 0x1p-127);
    EXPECT_EQ(stored(StoredType::f8_e8m0, huge), 0x1p127);
    EXPECT_TRUE(std::isnan(stored(StoredType::f8_e8m0, std::nan(""))));
}

TEST(Safetensors, NumbersAreRoundedOnceAndNotThroughFloat) {
    const double above_tie = 1.0 + 0x1p-11 + 0x1p-40;  // A float of it is the tie, which goes down.
    EXPECT_EQ(stored(StoredType::f16, above_tie), 1.0 + 0x1p-10);
    EXPECT_EQ(stored(StoredType::f16, -above_tie), -1.0 - 0x1p-10);
    EXPECT_EQ(stored(StoredType::f16, 1.0 + 0x1p-11 - 0x1p-40), 1.0);
    EXPECT_EQ(stored(StoredType::f16, 1e300), 65504.0) << "as any number beyond the largest";
    EXPECT_EQ(stored(StoredType::f8_e8m0, 12.0 - 0x1p-40), 8.0);
    EXPECT_EQ(stored(StoredType::bf16, 1e-300), 0.0);
}

TEST(Safetensors, EveryCodeOfASmallFormatComesBack) {
    for (const StoredType type : {StoredType::f4, StoredType::f6_e2m3, StoredType::f6_e3m2,
                                  StoredType::f8_e5m2, StoredType::f8_e4m3, StoredType::f8_e8m0,
                                  StoredType::f8_e4m3fnuz, StoredType::f8_e5m2fnuz}) {
        const std::size_t bits = row(type).bits;
        const std::size_t codes = std::size_t{1} << bits;
        StoredTensor all{
            .type = type, .shape = Shape{static_cast<std::int64_t>(codes)}, .bytes = {}};
        all.bytes.resize(codes * bits / 8);
        for (std::size_t bit = 0; bit < codes * bits; ++bit)  // Low bits first.
            if ((bit / bits >> bit % bits & 1U) != 0)
                all.bytes[bit / 8] |= std::byte(1U << bit % 8);
        const Tensor numbers = all.tensor();
        const Tensor again = StoredTensor::of(numbers, type).tensor();
        for (std::size_t code = 0; code < codes; ++code) {
            const double number = numbers.elements[code];
            EXPECT_TRUE(again.elements[code] == number || std::isnan(number))
                << row(type).name << " " << code;
            EXPECT_EQ(std::isnan(again.elements[code]), std::isnan(number));
        }
        // Without its sign a code grows with its number.
        const std::size_t positive = type == StoredType::f8_e8m0 ? codes : codes / 2;
        for (std::size_t code = 1; code < positive; ++code) {
            const double number = numbers.elements[code];
            EXPECT_TRUE(std::isnan(number) || number > numbers.elements[code - 1])
                << row(type).name << " " << code;
        }
    }
}

TEST(Safetensors, PackedNumbersLieLowBitsFirst) {
    const StoredTensor halves =
        StoredTensor::of(Tensor(ValueType::real, Shape{4}, {0.5, -6, 1, 0}), StoredType::f4);
    EXPECT_THAT(halves.bytes, ElementsAre(std::byte{0xF1}, std::byte{0x02}));
    const StoredTensor sixths =
        StoredTensor::of(Tensor(ValueType::real, Shape{4}, {0.125, 7.5, -0.0, 1}),
                         StoredType::f6_e2m3);  // Codes 000001, 011111, 100000 and 001000.
    EXPECT_THAT(sixths.bytes, ElementsAre(std::byte{0xC1}, std::byte{0x07}, std::byte{0x22}));
    EXPECT_THAT([] { (void)StoredTensor::of(Tensor(ValueType::real, Shape{3}), StoredType::f4); },
                ThrowsMessage<InputError>(HasSubstr("its 12 bits are no whole bytes")));
}

TEST(Safetensors, ComplexNumbersAreTwoParts) {
    const Tensor parts(ValueType::real, Shape{3, 2}, {1, -1, 0.5, 0, -2, 8});
    const StoredTensor tensor = StoredTensor::of(parts, StoredType::c64);
    EXPECT_EQ(tensor.shape, Shape{3});
    EXPECT_EQ(tensor.bytes.size(), 24U);
    EXPECT_EQ(tensor.tensor(), parts);
    EXPECT_THAT([] { (void)StoredTensor::of(Tensor(ValueType::real, Shape{3}), StoredType::c64); },
                ThrowsMessage<InputError>(HasSubstr("not the two parts")));
    EXPECT_THROW((void)StoredTensor::of(Tensor::scalar(1.0), StoredType::c64), InputError);
}

TEST(Safetensors, WhatDoesNotFitIsRefusedByName) {
    struct Case {
        std::string_view header;
        std::size_t data;
        std::string_view why;
    };
    for (const auto& [header, data, why] : {
             Case{"", 0, "no JSON"},
             Case{"[]", 0, "no object"},
             Case{"{", 0, "no JSON"},
             Case{R"({"__metadata__":{"a":1}})", 0, "metadata \"a\" is no text"},
             Case{R"({"__metadata__":[]})", 0, "metadata is no object"},
             Case{R"({"x":{"dtype":"F32","shape":[1]}})", 4, "tensor \"x\" does not have"},
             Case{R"({"x":7})", 0, "tensor \"x\" does not have"},
             Case{R"({"x":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4, "dtype \"F31\""},
             Case{R"({"x":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4, "holds 1.5"},
             Case{R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "holds -1"},
             Case{R"({"x":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4, "shape of tensor"},
             Case{R"({"x":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4,
                  "at most 8"},
             Case{R"({"x":{"dtype":"C64","shape":[1,1,1,1,1,1,1,1],"data_offsets":[0,8]}})", 8,
                  "at most 7"},
             Case{R"({"x":{"dtype":"C64","shape":[1],"data_offsets":[0,4]}})", 4, "is [1] of C64"},
             Case{R"({"x":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2, "is [3] of F4"},
             Case{R"({"x":{"dtype":"F6_E2M3","shape":[2],"data_offsets":[0,2]}})", 2,
                  "is [2] of F6_E2M3"},
             Case{R"({"x":{"dtype":"F4","shape":[72057594037927936],)"
                  R"("data_offsets":[0,2305843009213693952]}})",
                  2, "holds 2305843009213693952"},
             Case{R"({"x":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})",
                  4, "tensor \"x\""},
             Case{R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "is [2] of F32"},
             Case{R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "bytes 4 to 0"},
             Case{R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4, "not two numbers"},
             Case{R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3, "there are 3"},
             Case{R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5, "there are 5"},
             Case{R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                  R"("y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                  3, "tensor \"y\" starts at byte 1 of the data and 2"},
             Case{R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                  R"("x":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                  2, "the key \"x\" stands twice"},
             Case{R"({"x":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1,
                  "the key \"dtype\" stands twice"},
             Case{R"({"x":{"dtype":"U8","shape":[[[[1]]]],"data_offsets":[0,1]}})", 1, "too deep"},
         })
        EXPECT_THAT([&] { (void)decode_safetensors(file(header, data), "f"); },
                    ThrowsMessage<InputError>(HasSubstr(std::string(why))))
            << header;
    std::vector<std::byte> longer = file("{}", 0);
    longer[0] = std::byte{200};
    EXPECT_THROW((void)decode_safetensors(longer, "f"), InputError);
    EXPECT_THROW((void)decode_safetensors(std::span(longer).first(7), "f"), InputError);
}

TEST(Safetensors, DamagedFilesAreErrorsOrOtherContent) {
    const std::vector<std::byte> whole = encode(sample_tensors());
    RandomStream rng(random_key(5, "test.damage"), 0);
    for (int trial = 0; trial < 5000; ++trial) {
        std::vector<std::byte> bytes = whole;
        const std::size_t damages = 1 + rng.bits() % 4;
        for (std::size_t i = 0; i < damages; ++i)
            bytes[rng.bits() % bytes.size()] = std::byte(rng.bits() & 0xFFU);
        if (rng.bits() % 4 == 0) bytes.resize(rng.bits() % bytes.size());
        try {
            const Safetensors content = decode_safetensors(bytes, "damaged");
            for (const auto& [name, tensor] : content.tensors) (void)tensor.tensor();
        } catch (const InputError&) {
        }
    }
}

TEST(Safetensors, AHeaderThatNobodyReadsIsRefused) {
    Safetensors content;
    content.metadata["long"].resize(100'000'000, 'x');
    EXPECT_THAT([&] { (void)encode(content); },
                ThrowsMessage<InputError>(HasSubstr("the format takes 100000000")));
}

TEST(Safetensors, NamesThatNoFileCanHoldAreRefused) {
    Safetensors content;
    content.tensors.emplace("__metadata__", StoredTensor::of(Tensor::scalar(1.0)));
    EXPECT_THROW((void)encode(content), InputError);
    Safetensors broken;
    broken.tensors.emplace("\xff", StoredTensor::of(Tensor::scalar(1.0)));
    EXPECT_THROW((void)encode(broken), InputError);
}

}  // namespace
}  // namespace cambrian
