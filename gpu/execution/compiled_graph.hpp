#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/graph/plan/plan.hpp"
#include "cambrian/gpu/codegen/shader_texts.hpp"
#include "cambrian/gpu/execution/kernel.hpp"
#include "cambrian/gpu/vulkan/device.hpp"
#include "cambrian/gpu/vulkan/memory.hpp"

namespace cambrian::gpu {

class ShaderCompiler;
class Transfer;

/// What programs of one backend share while they are compiled and run.
struct Resources {
    vulkan::Device& device;
    vulkan::Heap& heap;
    vulkan::PipelineLibrary& pipelines;
    ShaderCompiler& compiler;  ///< For generated text (codegen/shader_compiler.hpp).
    Transfer& transfer;        ///< Between host and device (transfer.hpp).
    Math math = Math::fast;
    bool fuse = true;
    std::string dump_directory;
    double longest_dispatch = 0.25;  ///< Seconds, see VulkanOptions.
    std::int64_t max_turns = 0;      ///< See VulkanOptions.
    std::string matmul_tile;         ///< See VulkanOptions.
    int row_team = 0;                ///< See VulkanOptions.
};

/// A shader of the build (shaders/*.comp) specialised; constants as in PipelineLibrary::get. Under
/// strict math the variant without fused multiply-add is taken where a shader has one.
[[nodiscard]] const vulkan::Pipeline& static_pipeline(Resources& resources, std::string_view shader,
                                                      std::span<const std::uint32_t> constants);

/// Whether the kernels multiply codes of a format as they are (kernels/matmul/cooperative.cpp):
/// only in fast math, where the device has units for it.
[[nodiscard]] bool multiplies_codes(NumberFormat format, const Resources& resources);

/// What one pair of status words can report, to put its code and index into words.
struct StatusSite {
    struct Check {
        DataError code = DataError::none;
        std::int64_t rows = 0;  ///< The index must lie in [0, rows).
    };
    std::vector<Check> checks;
};
/// Words of one pair: {error code, bad index}.
inline constexpr std::uint32_t status_pair = 2;

/// A graph as a list of kernels with all memory decided: of a program, or of the body of a scan.
class CompiledGraph {
  public:
    /// For a body: words between the individuals of each input and output (0 = shared).
    struct Boundary {
        std::vector<std::int64_t> input_strides;
        std::vector<std::int64_t> output_strides;
    };
    /// Throws OutOfMemoryError where a value or temporary of one individual, or one that all share,
    /// is more than kernels index.
    CompiledGraph(const Graph& graph, Resources& resources, Boundary boundary);
    ~CompiledGraph();

    void record(vulkan::Recorder& recorder, const Frame& frame) const;
    /// Words of temporaries of a run, bodies included: fixed ones and those of each individual.
    [[nodiscard]] std::int64_t fixed_words() const;
    [[nodiscard]] std::int64_t words_per_individual() const;
    /// A frame whose temporaries start at `address`, which is advanced after them; inputs, outputs
    /// and the status word are left to the caller.
    [[nodiscard]] Frame make_frame(std::int64_t population, std::uint64_t& address) const;

    /// Points the frame, and those of bodies, at a pair of status words for each status site.
    void bind_status(Frame& frame, std::uint64_t address) const;
    /// All status sites, bodies included, in the order of their pairs.
    [[nodiscard]] std::vector<StatusSite> status_sites() const;
    /// Words between two individuals of the widest value or temporary, bodies included.
    [[nodiscard]] std::int64_t widest_stride() const;

    [[nodiscard]] std::uint32_t input_slot(std::size_t index) const;
    [[nodiscard]] std::uint32_t output_slot(std::size_t index) const;

    // For the factories of kernels, during construction.
    [[nodiscard]] Resources& resources() const;
    /// Memory that a kernel keeps for itself in every run.
    [[nodiscard]] BufferView reserve(std::int64_t elements, bool per_individual);
    /// The same for every individual, where the kernel indexes the words of all in 64 bits: any
    /// population that memory has room for.
    [[nodiscard]] BufferView reserve_uncounted(std::int64_t elements);
    /// The same, but what other kernels have there is lost: only for what one kernel writes and
    /// reads.
    [[nodiscard]] BufferView scratch(std::int64_t elements, bool per_individual);
    /// Words that never change (extents, strides), uploaded once; the view to read them by.
    [[nodiscard]] BufferView table(std::span<const std::uint32_t> words);
    /// Compiles the body of a scan; its position in Frame::bodies.
    std::size_t add_body(const Graph& body, Boundary boundary);
    [[nodiscard]] const CompiledGraph& body(std::size_t index) const;
    /// The two words that the node's kernel reports a data error to: {error code, bad index}. They
    /// hold zeros until then; a kernel exchanges the code only where it is 0.
    [[nodiscard]] BufferView status();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// The checks that a node's kernel makes: of the node itself, or of those in its body.
[[nodiscard]] StatusSite status_checks(const Graph& graph, const Node& node);

/// The error a pair of status words tells of, worded as on the CPU.
/// @param code not none.
[[nodiscard]] std::string status_message(const StatusSite& site, DataError code,
                                         std::int32_t index);

}  // namespace cambrian::gpu
