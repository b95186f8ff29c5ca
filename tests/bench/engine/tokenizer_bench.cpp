#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cambrian/engine/text/tokenizer.hpp"
#include "cambrian/engine/text/tokenizer_json.hpp"
#include "cambrian/engine/text/training/tokenizer_training.hpp"

// Texts of this repository: English, and many scripts. CAMBRIAN_TOKENIZER names a tokenizer.json in
// place of the one that is learnt from them, CAMBRIAN_TEXT a text.
namespace {

using namespace cambrian;

std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string text_of(const char* name) {
    if (const char* path = std::getenv("CAMBRIAN_TEXT")) return read(path);
    const std::string root = CAMBRIAN_SOURCE_DIR;
    std::string text;
    while (text.size() < 4'000'000) text += read(root + name);
    return text;
}

constexpr std::array<const char*, 2> texts{"/CHANGELOG.md", "/tests/tokenizer/sample.txt"};

const Tokenizer& tokenizer() {
    static const Tokenizer learnt = [] {
        if (const char* path = std::getenv("CAMBRIAN_TOKENIZER")) return read_tokenizer(path);
        const std::string english = text_of(texts[0]);
        const std::string scripts = text_of(texts[1]);
        const std::vector<std::string_view> both{english, scripts};
        return Tokenizer(train_byte_pairs(both, {.vocabulary = 16384}));
    }();
    return learnt;
}

void count_bytes(benchmark::State& state, std::size_t bytes) {
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

void tokenizer_encode(benchmark::State& state) {
    const std::string text = text_of(texts[static_cast<std::size_t>(state.range(0))]);
    const Tokenizer& used = tokenizer();
    for (auto _ : state) benchmark::DoNotOptimize(used.encode(text));
    count_bytes(state, text.size());
}

void tokenizer_decode(benchmark::State& state) {
    const std::string text = text_of(texts[static_cast<std::size_t>(state.range(0))]);
    const Tokenizer& used = tokenizer();
    const std::vector<std::int64_t> ids = used.encode(text);
    for (auto _ : state) benchmark::DoNotOptimize(used.decode(ids));
    count_bytes(state, text.size());
}

void tokenizer_train(benchmark::State& state) {
    const std::string text = text_of(texts[static_cast<std::size_t>(state.range(0))]);
    const std::vector<std::string_view> views{text};
    for (auto _ : state) benchmark::DoNotOptimize(train_byte_pairs(views, {.vocabulary = 4096}));
    count_bytes(state, text.size());
}

BENCHMARK(tokenizer_encode)->ArgName("scripts")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(tokenizer_decode)->ArgName("scripts")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(tokenizer_train)->ArgName("scripts")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
