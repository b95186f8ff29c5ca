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

Safetensors sample() {
    Safetensors content;
    content.metadata["format"] = "pt";
    content.metadata["who"] = "caf\u00e9";
    std::vector<double> values{0, 1, -2, 3, 100, -7};
    for (const StoredTypeRow& stored : stored_types())
        content.tensors.emplace(
            "of." + std::string(stored.name),
            StoredTensor::of(Tensor(ValueType::real, Shape{2, 3}, values), stored.type));
    content.tensors.emplace("number", StoredTensor::of(Tensor::scalar(0.1)));
    content.tensors.emplace("nothing", StoredTensor::of(Tensor(ValueType::integer, Shape{4, 0})));
    return content;
}

TEST(Safetensors, ComeBackAsTheyWere) {
    const Safetensors content = sample();
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

TEST(Safetensors, StoredNumbersAreTheNearestOfTheirType) {
    const auto stored = [](StoredType type, double value) {
        return StoredTensor::of(Tensor::scalar(value), type).tensor().elements[0];
    };
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
                  2, "has \"x\" twice"},
             Case{R"({"x":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1,
                  "has \"dtype\" twice"},
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
    const std::vector<std::byte> whole = encode(sample());
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
