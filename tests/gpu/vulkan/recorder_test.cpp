#include "cambrian/gpu/vulkan/recorder.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/gpu/codegen/shader_compiler.hpp"
#include "cambrian/gpu/vulkan/memory.hpp"
#include "cambrian/gpu/vulkan/pipeline.hpp"
#include "cambrian/gpu/vulkan/profile.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

namespace cambrian::vulkan {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

/// address[1][i] = 3 * address[0][i] + 1, word[0] elements.
constexpr const char* step_text = R"(
void main() {
    uint i = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i < push.word[0]) Words(push.address[1]).at[i] = 3 * Words(push.address[0]).at[i] + 1;
}
)";

/// address[0][group] += 1, one invocation.
constexpr const char* count_text = R"(
void main() {
    if (gl_LocalInvocationID.x == 0) Words(push.address[0]).at[group()] += 1;
}
)";

class RecorderTest : public testing::Test {
  protected:
    explicit RecorderTest(bool profile = false) : device_(options(profile)) {}

    static DeviceOptions options(bool profile) {
        DeviceOptions options = test::test_device_options();
        options.profile = profile;
        return options;
    }
    const Pipeline& pipeline(const char* name, const char* text) {
        return pipelines_.get(name, compiler_.compile(name, text), std::vector<std::uint32_t>{64});
    }
    Block memory(std::int64_t words) { return heap_.allocate(MemoryKind::device, 4 * words); }
    static Range range(const Block& block) {
        return {block.address(), static_cast<std::uint64_t>(block.bytes())};
    }
    void step(Recorder& recorder, const Block& from, const Block& to, std::uint32_t words) {
        Push push;
        push.address = {from.address(), to.address()};
        push.word[0] = words;
        recorder.dispatch(pipeline("step", step_text), push, (words + 63) / 64,
                          std::vector{range(from)}, std::vector{range(to)});
    }
    void run(const Recorder& recorder) {
        device_.wait(device_.submit(std::vector{recorder.commands()}));
    }
    std::vector<std::uint32_t> words_of(const Block& block, std::size_t words) {
        const Block readback =
            heap_.allocate(MemoryKind::readback, static_cast<std::int64_t>(4 * words));
        Recorder recorder(device_);
        recorder.begin();
        recorder.copy(block.address(), readback.address(), 4 * words);
        recorder.end();
        run(recorder);
        std::vector<std::uint32_t> result(words);
        std::memcpy(result.data(), readback.host(), 4 * words);
        return result;
    }

    Device device_;
    Heap heap_{device_, 0};
    PipelineLibrary pipelines_{device_, ""};
    gpu::ShaderCompiler compiler_{"", ""};
};

class ProfileTest : public RecorderTest {
  protected:
    ProfileTest() : RecorderTest(true) {}
};

TEST_F(RecorderTest, OrdersCommandsThatTouchTheSameMemory) {
    constexpr std::uint32_t words = 100'000;
    const Block a = memory(words);
    const Block b = memory(words);
    Recorder recorder(device_);
    recorder.begin();
    recorder.fill(a.address(), 4 * words, 1);
    // Read after write and write after read, in turn: 1, 4, 13, 40, ...
    for (int i = 0; i < 4; ++i) {
        step(recorder, a, b, words);
        step(recorder, b, a, words);
    }
    recorder.end();
    run(recorder);
    EXPECT_THAT(words_of(a, words), Each(9841));
    EXPECT_EQ(recorder.dispatches(), 8);
}

TEST_F(RecorderTest, PutsABarrierOnlyWhereItIsNeeded) {
    const Block a = memory(64);
    const Block b = memory(64);
    const Block c = memory(64);
    Recorder recorder(device_);
    recorder.begin();
    recorder.fill(a.address(), 256, 1);
    recorder.fill(b.address(), 128, 1);
    recorder.fill(b.address() + 128, 128, 1);
    EXPECT_EQ(recorder.barriers(), 0) << "all write different words";
    recorder.copy(a.address(), c.address(), 4);
    EXPECT_EQ(recorder.barriers(), 1) << "read after write";
    recorder.copy(b.address(), c.address() + 4, 4);
    recorder.copy(a.address(), c.address() + 8, 4);
    EXPECT_EQ(recorder.barriers(), 1) << "ordered by the barrier before, reads may overlap";
    recorder.fill(b.address(), 4, 2);
    EXPECT_EQ(recorder.barriers(), 2) << "write after read";
    recorder.fill(b.address(), 8, 3);
    EXPECT_EQ(recorder.barriers(), 3) << "write after write";
    recorder.end();
    run(recorder);
    EXPECT_THAT(words_of(b, 3), ElementsAre(3, 3, 1));
}

TEST_F(RecorderTest, RunsOneRecordingManyTimesWithoutWaiting) {
    constexpr std::uint32_t words = 70'000;
    const Block a = memory(words);
    const Block b = memory(words);
    Recorder start(device_);
    start.begin();
    start.fill(a.address(), 4 * words, 0);
    start.end();
    Recorder steps(device_);
    steps.begin();
    step(steps, a, b, words);
    step(steps, b, a, words);
    steps.end();
    device_.submit(std::vector{start.commands()});
    for (int i = 0; i < 3; ++i) device_.submit(std::vector{steps.commands()});
    EXPECT_THAT(words_of(a, words), Each(364));
}

TEST_F(RecorderTest, RecordsAnewAfterBegin) {
    const Block a = memory(64);
    Recorder recorder(device_);
    for (std::uint32_t value : {7U, 9U}) {
        recorder.begin();
        recorder.fill(a.address(), 4 * 64, value);
        recorder.end();
        run(recorder);
        EXPECT_THAT(words_of(a, 64), Each(value));
    }
}

TEST_F(RecorderTest, SplitsADispatchAboveTheLimitOfGroups) {
    constexpr std::uint64_t groups = 65'535 * 2 + 17;
    const Block counts = memory(groups);
    Recorder recorder(device_);
    recorder.begin();
    recorder.fill(counts.address(), 4 * groups, 0);
    Push push;
    push.address = {counts.address()};
    recorder.dispatch(pipeline("count", count_text), push, groups, {}, std::vector{range(counts)});
    recorder.end();
    run(recorder);
    EXPECT_THAT(words_of(counts, groups), Each(1));
    const std::int64_t most = device_.limits().max_groups;
    EXPECT_EQ(recorder.dispatches(), (static_cast<std::int64_t>(groups) + most - 1) / most);
}

TEST_F(RecorderTest, CopiesBetweenSlabs) {
    constexpr std::size_t words = 1000;
    const Block upload = heap_.allocate(MemoryKind::upload, 4 * words);
    const Block front = memory(256);
    const Block target = memory(words);
    std::vector<std::uint32_t> values(words);
    std::iota(values.begin(), values.end(), 5);
    std::memcpy(upload.host(), values.data(), 4 * words);
    Recorder recorder(device_);
    recorder.begin();
    recorder.copy(upload.address() + 40, target.address(), 4 * (words - 10));
    recorder.end();
    run(recorder);
    EXPECT_THAT(words_of(target, 3), ElementsAre(15, 16, 17));
}

/// Words far beyond address[0].
constexpr const char* astray_text = R"(
void main() {
    Words(push.address[0]).at[push.word[0] + gl_LocalInvocationID.x] = 1;
}
)";

TEST(GpuAssistedValidation, SeesAnAddressOutOfBounds) {
    const char* enabled = std::getenv("VK_LAYER_ENABLES");
    if (enabled == nullptr || std::string_view(enabled).find("GPU_ASSISTED") == std::string::npos)
        GTEST_SKIP() << "VK_LAYER_ENABLES does not ask for GPU-assisted validation";
    DeviceOptions options = test::test_device_options();
    std::string heard;
    options.on_validation_message = [&heard](std::string_view message) { heard += message; };
    Device device(options);
    Heap heap(device, 0);
    PipelineLibrary pipelines(device, "");
    gpu::ShaderCompiler compiler("", "");
    const Block block = heap.allocate(MemoryKind::device, std::int64_t{300} << 20);
    const Pipeline& astray = pipelines.get("astray", compiler.compile("astray", astray_text),
                                           std::vector<std::uint32_t>{64});
    Push push;
    push.address = {block.address()};
    push.word[0] = static_cast<std::uint32_t>(block.bytes() / 4 + 1000);
    Recorder recorder(device);
    recorder.begin();
    recorder.dispatch(astray, push, 1, {}, {});
    recorder.end();
    device.wait(device.submit(std::vector{recorder.commands()}));
    EXPECT_THAT(heard, testing::HasSubstr("out of bounds"));
}

TEST_F(ProfileTest, TellsTheTimeOfEachKernel) {
    constexpr std::uint32_t words = 200'000;
    const Block a = memory(words);
    const Block b = memory(words);
    Recorder recorder(device_);
    recorder.begin();
    recorder.fill(a.address(), 4 * words, 1);
    for (int i = 0; i < 600; ++i) step(recorder, a, b, 64);
    step(recorder, a, b, words);
    recorder.end();
    run(recorder);
    run(recorder);
    const std::vector<KernelTime> times = device_.profile()->take();
    ASSERT_EQ(times.size(), 2U);
    std::int64_t steps = 0;
    for (const KernelTime& time : times) {
        EXPECT_GT(time.seconds, 0.0);
        EXPECT_LT(time.seconds, 60.0);
        if (time.kernel == "step(64)") steps = time.dispatches;
    }
    EXPECT_EQ(steps, 2 * 601);
    EXPECT_GE(times[0].seconds, times[1].seconds);
    EXPECT_TRUE(device_.profile()->take().empty());
}

}  // namespace
}  // namespace cambrian::vulkan
