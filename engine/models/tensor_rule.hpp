#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cambrian/engine/io/tensor_files.hpp"
#include "cambrian/engine/network/network.hpp"

// How the tensors of a model that others made are the weights of a network.
namespace cambrian::models {

/// How the numbers of a tensor lie beside those of its parameters.
enum class Form : std::uint8_t {
    same,        ///< In their order.
    transposed,  ///< [in, out] where the parameters are [out, in].
    added,       ///< One of two tensors whose sum is the parameter; written as zeros.
};

/// A tensor of others and the parameters that it holds.
struct TensorRule {
    std::string theirs;  ///< Empty: they have no such tensor, and the parameters are zero.
    std::vector<std::string> ours;  ///< Network::weight_name; of several one after another along
                                    ///< the first axis.
    Form form = Form::same;
    bool operator==(const TensorRule&) const = default;
};

/// A network, and where the tensors of a model belong in it. Every weight is in a rule, once or in
/// one and `added` ones.
struct ModelPlan {
    Blueprint blueprint;
    std::vector<TensorRule> rules;  ///< One tensor may be in several: they are copies of it.
    /// Tensors that hold nothing learnt, such as masks, where they are there; '#' is a number.
    std::vector<std::string> buffers;
    /// A tensor that need not be there, and the one that it must equal where it is.
    std::vector<std::pair<std::string, std::string>> copies;
    std::vector<std::string> notes;  ///< Lines for people.
};

/// Where the weights of a network lie, by their names.
class NamedRanges {
  public:
    /// @param network outlives it.
    explicit NamedRanges(const Network& network);
    /// Of a name that is there.
    [[nodiscard]] const WeightRange& at(const std::string& name) const;

  private:
    std::map<std::string, const WeightRange*> ranges_;
};

/// What other programs call a type that tensors of models have: "bfloat16". Throws ConfigError for
/// another type.
[[nodiscard]] std::string_view torch_type(StoredType type);

/// Whether a name is a pattern with numbers in place of '#'.
[[nodiscard]] bool fits_pattern(std::string_view name, std::string_view pattern);

/// The weights of the network of a plan. Throws InputError that names every tensor that is missing
/// or left over, and one with another shape, of a type that torch_type() does not know, or with an
/// element that is not finite.
[[nodiscard]] std::vector<float> read_weights(const ModelPlan& plan, const Network& network,
                                              const TensorFiles& files);

/// The tensors that a plan writes, with their shapes, in the order of its rules.
struct PlannedTensor {
    std::string name;
    Shape shape;
    std::vector<const TensorRule*> rules;  ///< Those of the name.
};
[[nodiscard]] std::vector<PlannedTensor> planned_tensors(const ModelPlan& plan,
                                                         const NamedRanges& ranges);
/// One of them. Throws ConfigError where two rules of it have other numbers.
/// @param type one that torch_type() knows.
[[nodiscard]] StoredTensor write_tensor(const PlannedTensor& planned, const NamedRanges& ranges,
                                        std::span<const float> weights, StoredType type);
/// Throws ConfigError where a parameter without a tensor is not zero.
void check_zeros(const ModelPlan& plan, const NamedRanges& ranges, std::span<const float> weights);

}  // namespace cambrian::models
