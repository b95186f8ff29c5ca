#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "cambrian/tests/fuzz/fuzz.hpp"

// The fuzz targets without libFuzzer: every file of a corpus, then as many mutations of them as
// asked for, the same ones each time. An input that is a finding is left as `finding` in the
// working directory.
namespace {

struct Target {
    std::string_view name;
    void (*read)(std::span<const std::byte>);
};

constexpr std::array targets{
#define CAMBRIAN_FUZZ_ROW(name) Target{#name, cambrian::fuzz_##name},
#include "cambrian/tests/fuzz/targets.inl"
#undef CAMBRIAN_FUZZ_ROW
};

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t max_bytes = 4096;
// A reader that believes a length in a small file must not get the memory for it. Sanitizers take
// terabytes of addresses for themselves: no limit there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr rlim_t max_memory = RLIM_INFINITY;
#else
constexpr rlim_t max_memory = rlim_t{1} << 30;
#endif

Bytes current;

void keep_finding(int signal) {
    const int file = open("finding", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file >= 0 && write(file, current.data(), current.size()) >= 0) close(file);
    constexpr char text[] = "this input is a finding: it is kept in the file `finding`\n";
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(1);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

std::vector<Bytes> read_corpus(const char* folder) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        paths.push_back(entry.path());
    std::ranges::sort(paths);
    std::vector<Bytes> corpus;
    for (const auto& path : paths) {
        std::ifstream file(path, std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return corpus;
}

class Mutator {
  public:
    explicit Mutator(const std::vector<Bytes>& corpus) : corpus_(corpus) {}

    Bytes next() {
        Bytes bytes = corpus_[below(corpus_.size())];
        for (std::size_t changes = 1 + below(6); changes > 0; --changes) change(bytes);
        bytes.resize(std::min(bytes.size(), max_bytes));
        return bytes;
    }

  private:
    std::size_t below(std::size_t end) {
        return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
    }

    void change(Bytes& bytes) {
        constexpr std::array<std::uint8_t, 10> telling{0,   1,   0x7f, 0x80, 0xff,
                                                       '"', '{', ']',  '-',  '9'};
        const std::size_t at = below(bytes.size() + 1);
        const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        const std::size_t count = std::min(below(16) + 1, bytes.size() - at);
        switch (below(6)) {
            case 0:
                bytes.insert(from, below(8) + 1, telling[below(telling.size())]);
                break;
            case 1:
                bytes.erase(from, from + static_cast<std::ptrdiff_t>(count));
                break;
            case 2:
                bytes.resize(at);
                break;
            case 3: {
                const Bytes& other = corpus_[below(corpus_.size())];
                const auto begin =
                    other.begin() + static_cast<std::ptrdiff_t>(below(other.size() + 1));
                bytes.insert(from, begin,
                             begin + std::min<std::ptrdiff_t>(64, other.end() - begin));
                break;
            }
            case 4:
                if (at < bytes.size()) bytes[at] ^= static_cast<std::uint8_t>(1U << below(8));
                break;
            default:
                std::fill_n(from, count, telling[below(telling.size())]);
        }
    }

    const std::vector<Bytes>& corpus_;
    std::mt19937_64 random_{1};
};

}  // namespace

int main(int count, char** arguments) {
    const auto* const target =
        count != 4 ? targets.end() : std::ranges::find(targets, arguments[1], &Target::name);
    if (target == targets.end()) {
        std::fputs("usage: cambrian_fuzz_targets TARGET CORPUS_FOLDER MUTATIONS\n", stderr);
        return 2;
    }
    const rlimit memory{max_memory, max_memory};
    if (setrlimit(RLIMIT_AS, &memory) != 0) return 1;
    const std::vector<Bytes> corpus = read_corpus(arguments[2]);
    if (corpus.empty()) return 2;
    for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL})
        std::signal(signal, keep_finding);
    const auto run = [&](Bytes bytes) {
        current = std::move(bytes);
        cambrian::run_target(target->read, std::as_bytes(std::span(current)));
    };
    for (const Bytes& bytes : corpus) run(bytes);
    Mutator mutator(corpus);
    const long mutations = std::atol(arguments[3]);
    for (long i = 0; i < mutations; ++i) run(mutator.next());
    std::printf("%zu files and %ld mutations of them: no finding\n", corpus.size(), mutations);
}
