#include "cambrian/evolve/genome/gram.hpp"

#include "cambrian/evolve/genome/alignment.hpp"

namespace cambrian::evolve {

Gram gram_matrix(std::size_t count, ThreadPool& threads,
                 const std::function<double(std::size_t i, std::size_t j)>& similarity) {
    Gram gram(count * count, 1.0);
    threads.for_each(static_cast<std::int64_t>(count), [&](std::int64_t row, int) {
        const auto i = static_cast<std::size_t>(row);
        for (std::size_t j = i + 1; j < count; ++j) {
            const double value = similarity(i, j);
            gram[i * count + j] = value;
            gram[j * count + i] = value;
        }
    });
    return gram;
}

Gram gram_matrix(std::span<const Genome* const> genomes, DnaMode mode, ThreadPool& threads) {
    std::vector<Dna> signatures(genomes.size());
    threads.for_each(std::ssize(genomes), [&](std::int64_t index, int) {
        const auto i = static_cast<std::size_t>(index);
        signatures[i] = dna(*genomes[i]);
    });
    return gram_matrix(genomes.size(), threads, [&](std::size_t i, std::size_t j) {
        const auto against = [&](const Dna& other) {
            return overall(*genomes[i], signatures[i], *genomes[j], other);
        };
        const double as_is = against(signatures[j]);
        if (mode == DnaMode::strict) {
            return as_is;
        }
        const double in_order = against(dna(aligned(*genomes[i], *genomes[j])));
        return in_order < as_is ? as_is : in_order;
    });
}

}  // namespace cambrian::evolve
