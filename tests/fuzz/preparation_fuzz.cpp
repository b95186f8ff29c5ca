#include "cambrian/evolve/genome/preparation.hpp"

#include "cambrian/tests/fuzz/fuzz.hpp"

// Any bytes are either an input error or a preparation that is written as the same bytes from then
// on, and that can be judged.
namespace cambrian {

void fuzz_preparation(std::span<const std::byte> bytes) {
    const evolve::Preparation preparation = evolve::decode_preparation(bytes, "input");
    const std::vector<std::byte> copy = evolve::encode(preparation);
    fuzz_expect(evolve::encode(evolve::decode_preparation(copy, "copy")) == copy);
    Blueprint blueprint;
    blueprint.input_features = static_cast<std::int64_t>(preparation.inputs.size());
    blueprint.output_features = static_cast<std::int64_t>(preparation.outputs.size());
    (void)evolve::preparation_fault(preparation, blueprint);
    (void)evolve::classes_text(preparation.class_names(), preparation.classes.size());
}

}  // namespace cambrian
