#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// The messages of an ONNX file that our models need; names and numbers are those of onnx.proto3.
namespace cambrian::onnx {

/// The operators are those of this version of the standard (2022).
inline constexpr std::int64_t operator_set = 17;
inline constexpr std::int64_t format_version = 8;

/// Types of elements by their numbers in TensorProto.DataType.
enum class ElementType : std::int32_t {
    real32 = 1,
    int32 = 6,
    int64 = 7,
    text = 8,
    boolean = 9,
    real64 = 11,
};

/// A constant of a graph: TensorProto.
struct Initializer {
    std::string name;
    ElementType type = ElementType::real32;
    std::vector<std::int64_t> extents;
    std::string raw{};                 ///< Elements one after another, little-endian; no texts.
    std::vector<std::string> texts{};  ///< Elements of the type text.
};

/// An extent, or a name for one that is only known at run time.
using Axis = std::variant<std::int64_t, std::string>;

/// An input or output of a graph: ValueInfoProto.
struct Value {
    std::string name;
    ElementType type = ElementType::real32;
    std::vector<Axis> axes;
    std::string documentation{};
};

struct GraphMessage;
struct Attribute {
    std::string name;
    std::variant<std::int64_t, std::string, std::vector<std::int64_t>,
                 std::shared_ptr<const GraphMessage>>
        value;
};

struct NodeMessage {
    std::string operation;
    std::string name;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    std::vector<Attribute> attributes;
};

struct GraphMessage {
    std::string name;
    std::vector<NodeMessage> nodes;
    std::vector<Initializer> initializers;
    std::vector<Value> inputs;
    std::vector<Value> outputs;
};

struct ModelMessage {
    GraphMessage graph;
    std::string documentation;
    std::vector<std::pair<std::string, std::string>> metadata;
};

/// The bytes of a .onnx file. Throws InputError where they would be more than the format holds
/// (2 GiB).
[[nodiscard]] std::string encode(const ModelMessage& model);

}  // namespace cambrian::onnx
