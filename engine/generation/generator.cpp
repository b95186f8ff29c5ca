#include "cambrian/engine/generation/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/generation/generation_graphs.hpp"
#include "cambrian/engine/generation/text_rows.hpp"
#include "cambrian/engine/network/observe/id_reader.hpp"
#include "cambrian/engine/network/packed_weights.hpp"

namespace cambrian {
namespace {

using generation_graphs::Batch;

/// Adds the time of its life to a sum.
class Stopwatch {
  public:
    explicit Stopwatch(double& sum) : sum_(sum) {}
    ~Stopwatch() { sum_ += seconds(); }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(Clock::now() - start_).count();
    }

  private:
    using Clock = std::chrono::steady_clock;
    double& sum_;
    Clock::time_point start_ = Clock::now();
};

/// A compiled graph and what its inputs and outputs are called.
struct Compiled {
    std::unique_ptr<Program> program;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;  ///< The input that one replaces, or nothing.
};

Compiled compiled(Backend& backend, const Graph& graph) {
    Compiled result{.program = backend.compile(graph), .inputs = {}, .outputs = {}};
    for (std::size_t i = 0; i < graph.inputs().size(); ++i)
        result.inputs.push_back(graph.input_name(i));
    result.outputs.resize(graph.outputs().size());
    for (const Update& update : graph.updates())
        result.outputs[update.output] = graph.input_name(update.input);
    return result;
}

}  // namespace

class Generator::Implementation {
  public:
    Implementation(Backend& backend, const Network& network,
                   std::span<const std::vector<float>> weights)
        : backend_(backend),
          network_(network),
          networks_(static_cast<std::int64_t>(weights.size())),
          longest_(generation_graphs::longest_sequence(network)) {
        if (network.input_features() != 1)
            throw InputError(fmt::format(
                "the network does not read tokens (a step of it has {} numbers, one id is needed) "
                "use a network that was trained on text",
                network.input_features()));
        if (const Embedding* embedding = id_reader(network.blueprint()))
            vocabulary_ = embedding->vocabulary;
        CAMBRIAN_EXPECT(!weights.empty());
        for (std::size_t i = 0; i < weights.size(); ++i) {
            CAMBRIAN_EXPECT(static_cast<std::int64_t>(weights[i].size()) == network.weight_count());
            const EvaluatedOperands own = evaluated_operands(network, weights[i]);
            place(weights_, ValueType::real, i, std::span<const float>(own.weights));
            if (own.packed)
                place(codes_, ValueType::integer, i,
                      std::span<const std::int32_t>(own.activations));
        }
        on_host_ = !backend.reals_on_host(*weights_).empty();
    }

    std::vector<GeneratedText> run(std::span<const Prompt> prompts,
                                   const GenerationSettings& settings,
                                   const TokenObserver& observer) {
        times_ = {};
        TextRows texts(prompts, networks_, {.sequence = longest_, .vocabulary = vocabulary_},
                       settings, observer);
        batch_ = {.prompts = static_cast<std::int64_t>(prompts.size()), .networks = networks_};
        if (texts.empty()) return {};
        block_ = settings.block;
        first_cache_ = first_cache(texts, settings);
        begin(texts);
        try {
            settings.cache ? continue_cached(texts) : continue_whole(texts);
        } catch (const OutOfMemoryError& error) {
            throw OutOfMemoryError(
                fmt::format("{} texts cannot be continued to {} positions (their caches take {:.1f}"
                            " MiB; {}) continue fewer at once, or to fewer tokens",
                            texts.size(), capacity_, cache_mebibytes(), error.what()));
        }
        return texts.take();
    }

    const GenerationTimes& times() const { return times_; }

  private:
    /// Positions that the first cache has at least. On a device a program of another size takes
    /// longer to compile than the room takes memory.
    std::int64_t first_cache(const TextRows& texts, const GenerationSettings& settings) const {
        constexpr std::int64_t max_first_cache = 1024;
        if (on_host_) return 0;
        return std::min(texts.longest() + std::min(settings.max_tokens, max_first_cache),
                        max_first_cache);
    }

    /// What all programs of a run share.
    void begin(const TextRows& texts) {
        const Stopwatch watch(times_.prepare_seconds);
        buffers_.clear();
        const auto rows = static_cast<std::int64_t>(texts.size());
        add_buffer("position", rows);
        add_buffer("logits",
                   rows * network_.shape_after(static_cast<int>(network_.slot_count())).elements());
        capacity_ = 0;
    }

    Buffer& add_buffer(const std::string& name, std::int64_t elements) {
        buffers_[name] = backend_.allocate(ValueType::real, elements);
        return *buffers_[name];
    }
    Buffer& buffer(const std::string& name) {
        if (name == "weights") return *weights_;
        if (name == "codes") return *codes_;
        const auto found = buffers_.find(name);
        CAMBRIAN_ASSERT(found != buffers_.end());
        return *found->second;
    }
    void upload(const std::string& name, const std::vector<float>& values) {
        backend_.upload(buffer(name), 0, std::span<const float>(values));
    }

    /// @param outputs buffers of those that replace no input, in order.
    void run_program(const Compiled& compiled, std::span<Buffer* const> outputs) {
        std::vector<Binding> in;
        std::vector<Binding> out;
        for (const std::string& name : compiled.inputs) in.push_back({&buffer(name), 0});
        std::size_t next = 0;
        for (const std::string& name : compiled.outputs)
            out.push_back({name.empty() ? outputs[next++] : &buffer(name), 0});
        CAMBRIAN_ASSERT(next == outputs.size());
        compiled.program->run(networks_, in, out);
    }

    /// Puts what network `index` reads after that of those before it.
    template <class Value>
    void place(std::unique_ptr<Buffer>& buffer, ValueType type, std::size_t index,
               std::span<const Value> values) {
        const auto count = static_cast<std::int64_t>(values.size());
        if (!buffer) buffer = backend_.allocate(type, networks_ * count);
        backend_.upload(*buffer, static_cast<std::int64_t>(index) * count, values);
    }

    enum class Kind : std::uint8_t { step, prefill, whole, grow };
    template <class MakeGraph>
    const Compiled& program(Kind kind, std::int64_t first, std::int64_t second,
                            const MakeGraph& graph) {
        const auto key = std::tuple{kind, batch_.prompts, first, second};
        auto found = programs_.find(key);
        if (found == programs_.end()) {
            const Stopwatch watch(times_.prepare_seconds);
            found = programs_.emplace(key, compiled(backend_, graph())).first;
        }
        return found->second;
    }

    [[nodiscard]] bool is_cache(std::size_t state) const {
        return cached_->state()[state].kind == StateKind::rows;
    }
    [[nodiscard]] bool has_caches() const {
        return std::ranges::any_of(
            cached_->state(), [](const StateSpec& spec) { return spec.kind == StateKind::rows; });
    }
    [[nodiscard]] std::int64_t state_elements(const Network& cached, std::size_t state) const {
        return networks_ * generation_graphs::state_shape(cached, state, batch_).elements();
    }
    [[nodiscard]] double cache_mebibytes() const {
        std::int64_t elements = 0;
        for (std::size_t i = 0; cached_ && i < cached_->state().size(); ++i)
            if (is_cache(i)) elements += state_elements(*cached_, i);
        return static_cast<double>(elements) * sizeof(float) / 0x1p20;
    }

    /// Caches for so many positions, with what they had.
    void hold(std::int64_t positions) {
        if (positions <= capacity_ || (capacity_ > 0 && !has_caches())) return;
        const std::int64_t wanted = std::max(positions, first_cache_);
        const std::int64_t before = std::exchange(capacity_, capacity(wanted, block_, longest_));
        std::optional<Network> grown(generation_graphs::with_cache(network_, capacity_));
        std::swap(cached_, grown);
        std::map<std::string, std::unique_ptr<Buffer>> larger;
        std::vector<Buffer*> outputs;
        {
            const Stopwatch watch(times_.prepare_seconds);
            for (std::size_t i = 0; i < cached_->state().size(); ++i) {
                const std::string name = generation_graphs::state_name(*cached_, i);
                if (buffers_.contains(name) && !is_cache(i)) continue;
                auto& state = larger[name] =
                    backend_.allocate(ValueType::real, state_elements(*cached_, i));
                if (is_cache(i)) outputs.push_back(state.get());
            }
        }
        if (before > 0) {
            const Compiled& grow = program(Kind::grow, before, capacity_, [&] {
                return generation_graphs::grow(*grown, *cached_, batch_);
            });
            const Stopwatch watch(times_.prepare_seconds);
            run_program(grow, outputs);
        }
        for (auto& [name, state] : larger) buffers_[name] = std::move(state);
    }

    /// Reads all but the last token of the prompts in one pass, where caches are all there is.
    void read_prompts(TextRows& texts) {
        if (!generation_graphs::fills_by_sequence(*cached_)) return;
        const std::int64_t time = texts.longest() - 1;
        if (time > 0 && has_caches()) {
            const std::int64_t padded = capacity(time, block_, longest_);
            const Compiled& prefill = program(Kind::prefill, padded, capacity_, [&] {
                return generation_graphs::prefill(*cached_, batch_, padded);
            });
            const Stopwatch watch(times_.prefill_seconds);
            add_buffer("prompt", static_cast<std::int64_t>(texts.size()) * padded);
            upload("prompt", texts.tokens(padded));
            upload("position", texts.counts_before_last());
            std::vector<Buffer*> caches;
            for (std::size_t i = 0; i < cached_->state().size(); ++i)
                if (is_cache(i))
                    caches.push_back(&buffer(generation_graphs::state_name(*cached_, i)));
            run_program(prefill, caches);
        }
        texts.skip_to_last();
    }

    void continue_cached(TextRows& texts) {
        add_buffer("tokens", static_cast<std::int64_t>(texts.size()));
        hold(texts.longest());
        read_prompts(texts);
        while (texts.active()) {
            hold(texts.furthest() + 1);
            const Compiled& step = program(Kind::step, capacity_, 0, [&] {
                return generation_graphs::step(*cached_, batch_);
            });
            StepTime time{.position = texts.furthest()};
            {
                const Stopwatch watch(time.seconds);
                upload("tokens", texts.next_tokens());
                upload("position", texts.positions());
                run_program(step, std::array{&buffer("logits")});
                time.tokens = texts.advance(logits(texts));
            }
            times_.steps.push_back(time);
        }
    }

    void continue_whole(TextRows& texts) {
        while (texts.active()) {
            capacity_ = capacity(texts.longest(), block_, longest_);
            const Compiled& pass = program(Kind::whole, capacity_, 0, [&] {
                return generation_graphs::whole(network_, batch_, capacity_);
            });
            texts.skip_to_last();
            StepTime time{.position = texts.furthest()};
            {
                const Stopwatch watch(time.seconds);
                add_buffer("prompt", static_cast<std::int64_t>(texts.size()) * capacity_);
                upload("prompt", texts.tokens(capacity_));
                upload("position", texts.positions());
                run_program(pass, std::array{&buffer("logits")});
                time.tokens = texts.advance(logits(texts));
            }
            times_.steps.push_back(time);
        }
    }

    std::vector<float> logits(const TextRows& texts) {
        const Buffer& from = buffer("logits");
        std::vector<float> values(static_cast<std::size_t>(from.elements()));
        CAMBRIAN_ASSERT(values.size() % texts.size() == 0);
        backend_.download(from, 0, std::span<float>(values));
        return values;
    }

    Backend& backend_;
    Network network_;
    std::int64_t networks_;
    std::int64_t longest_;         ///< Sequence of the network; 0: any.
    std::int64_t vocabulary_ = 0;  ///< Ids that it reads; 0: any.
    bool on_host_ = false;
    std::unique_ptr<Buffer> weights_;
    std::unique_ptr<Buffer> codes_;  ///< Of packed weights; null where there are none.
    std::map<std::tuple<Kind, std::int64_t, std::int64_t, std::int64_t>, Compiled> programs_;
    GenerationTimes times_;

    // Of the run.
    Batch batch_;
    std::int64_t block_ = 0;
    std::int64_t first_cache_ = 0;
    std::int64_t capacity_ = 0;
    std::optional<Network> cached_;
    std::map<std::string, std::unique_ptr<Buffer>> buffers_;
};

std::string_view name(Ending ending) {
    static constexpr std::array<std::string_view, 4> names{"token", "stopped", "length", "context"};
    return names[static_cast<std::size_t>(ending)];
}

Generator::Generator(Backend& backend, const Network& network,
                     std::span<const std::vector<float>> weights)
    : implementation_(std::make_unique<Implementation>(backend, network, weights)) {}
Generator::~Generator() = default;
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;

std::vector<GeneratedText> Generator::run(std::span<const Prompt> prompts,
                                          const GenerationSettings& settings,
                                          const TokenObserver& observer) {
    return implementation_->run(prompts, settings, observer);
}

const GenerationTimes& Generator::times() const {
    return implementation_->times();
}

std::int64_t Generator::capacity(std::int64_t positions, std::int64_t block, std::int64_t longest) {
    // Under strict math a step reads whole caches: room that is not used costs time.
    constexpr std::int64_t smallest_growth = 128;
    std::int64_t result = block;
    while (result < positions) result += std::min(result, std::max(smallest_growth, result / 8));
    return longest > 0 ? std::min(result, longest) : result;
}

}  // namespace cambrian
