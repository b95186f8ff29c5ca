#include "cambrian/engine/io/tensor_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/safetensors_index.hpp"
#include "cambrian/tests/support/model_support.hpp"
#include "cambrian/tests/support/temporary_directory.hpp"

namespace cambrian {
namespace {

namespace fs = std::filesystem;
using test::write_tensors;
using testing::HasSubstr;
using testing::ThrowsMessage;

class TensorFilesTest : public testing::Test {
  protected:
    void write_index(const std::string& weight_map) const {
        std::ofstream(folder_ / "model.safetensors.index.json")
            << R"({"metadata": {"total_size": 20}, "weight_map": )" << weight_map << "}";
    }
    [[nodiscard]] auto refused(const std::string& why) const {
        return ThrowsMessage<InputError>(HasSubstr(why));
    }

    test::TemporaryDirectory directory_;
    fs::path folder_ = directory_.path();
};

TEST_F(TensorFilesTest, JoinTheFilesOfAnIndex) {
    write_tensors(folder_ / "a.safetensors", {{"x", {2}}, {"y", {3}}});
    write_tensors(folder_ / "b.safetensors", {{"z", {1, 4}}});
    write_index(R"({"x": "a.safetensors", "y": "a.safetensors", "z": "b.safetensors"})");
    const TensorFiles files(folder_);
    EXPECT_EQ(files.file_count(), 2U);
    ASSERT_EQ(files.entries().size(), 3U);
    EXPECT_EQ(files.read("y"), read_safetensors(folder_ / "a.safetensors").at("y"));
    EXPECT_EQ(files.read("z"), read_safetensors(folder_ / "b.safetensors").at("z"));
    EXPECT_EQ(files.entries().at("z").place.shape, Shape({1, 4}));
}

TEST_F(TensorFilesTest, ReadOnlyWhatIsAskedFor) {
    write_tensors(folder_ / "a.safetensors", {{"x", {2}}, {"y", {3}}});
    const TensorFiles files(folder_);
    // The data of y go; x is still read, y no more.
    fs::resize_file(folder_ / "a.safetensors", fs::file_size(folder_ / "a.safetensors") - 12);
    EXPECT_EQ(files.read("x").bytes.size(), 8U);
    EXPECT_THAT([&] { static_cast<void>(files.read("y")); }, refused("ends before byte"));
}

TEST_F(TensorFilesTest, RefuseAnIndexThatItsFilesDoNotAgreeWith) {
    const auto open = [&] { static_cast<void>(TensorFiles(folder_)); };
    write_tensors(folder_ / "a.safetensors", {{"x", {2}}, {"y", {3}}});
    write_tensors(folder_ / "b.safetensors", {{"y", {3}}});
    write_index(R"({"x": "a.safetensors"})");
    EXPECT_THAT(open, refused("has the tensor \"y\" ("));
    write_index(R"({"x": "a.safetensors", "y": "b.safetensors"})");
    EXPECT_THAT(open, refused("b.safetensors has the tensor \"y\" of another file"));
    write_index(R"({"x": "a.safetensors", "y": "a.safetensors", "z": "a.safetensors"})");
    EXPECT_THAT(open, refused("names a tensor that is not there (\"z\" in a.safetensors)"));
    write_index(R"({"x": "a.safetensors", "y": "c.safetensors"})");
    EXPECT_THAT(open, refused("c.safetensors cannot be read"));
    write_index(R"({"x": "../a.safetensors"})");
    EXPECT_THAT(open, refused("which is no .safetensors of its own folder"));
}

TEST_F(TensorFilesTest, RefuseFoldersThatAreNoModel) {
    const auto open = [&] { static_cast<void>(TensorFiles(folder_)); };
    EXPECT_THAT(open, refused("it has no .safetensors"));
    write_tensors(folder_ / "a.safetensors", {{"x", {2}}});
    write_tensors(folder_ / "b.safetensors", {{"y", {3}}});
    EXPECT_THAT(open,
                refused("it has a.safetensors, b.safetensors and no model.safetensors.index"));
    EXPECT_THAT([&] { static_cast<void>(TensorFiles(folder_ / "c.safetensors")); },
                refused("c.safetensors cannot be read"));
}

TEST(SafetensorsIndexText, ComesBackAsItWas) {
    const SafetensorsIndex index{{{"a.weight", "x.safetensors"}, {"b", "y.safetensors"}}, 12};
    EXPECT_EQ(decode_safetensors_index(encode(index), "it"), index);
}

TEST(SafetensorsIndexText, RefusesEveryPathOutOfItsFolder) {
    for (const std::string file :
         {"../x.safetensors", "/etc/x.safetensors", "a/b.safetensors", "a\\\\b.safetensors", "..",
          ".safetensors", ".x.safetensors", "x.bin", ""}) {
        const std::string text = R"({"weight_map": {"a": ")" + file + "\"}}";
        EXPECT_THAT([&] { static_cast<void>(decode_safetensors_index(text, "it")); },
                    ThrowsMessage<InputError>(HasSubstr("no .safetensors of its own folder")))
            << file;
    }
    for (const char* text : {"", "[]", "{}", R"({"weight_map": []})", R"({"weight_map": {}})",
                             R"({"weight_map": {"a": 3}})"})
        EXPECT_THAT([&] { static_cast<void>(decode_safetensors_index(text, "it")); },
                    ThrowsMessage<InputError>(HasSubstr("it cannot be read as an index")))
            << text;
}

}  // namespace
}  // namespace cambrian
