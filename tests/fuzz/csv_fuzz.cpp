#include <algorithm>
#include <cmath>
#include <sstream>

#include "cambrian/engine/io/csv/csv.hpp"
#include "cambrian/tests/fuzz/fuzz.hpp"

// The first byte says how the rest is read as a table: any text is either an error or finite
// numbers, one for each row and column, but for inputs that the reader's user fills.
namespace cambrian {

void fuzz_csv(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    const auto way = std::to_integer<std::size_t>(bytes[0]);
    std::istringstream stream(
        std::string(reinterpret_cast<const char*>(bytes.data()) + 1, bytes.size() - 1));
    const CsvFile file(stream, "input");
    const auto missing = static_cast<MissingValues>(way % missing_values_names.size());
    const bool labels = way / 32 % 2 == 1;
    const CsvUse use{.targets = way / 8 % 3 + (labels ? 1 : 0), .labels = labels};
    if (use.targets > file.header().size()) return;
    const NumberTable table = file.numbers(file.header(), missing, use);
    const auto rows = static_cast<std::size_t>(table.rows);
    fuzz_expect(rows > 0 && table.values.size() == rows * table.columns.size());
    fuzz_expect(table.lines.size() == rows && std::ranges::is_sorted(table.lines));
    fuzz_expect(table.labels.size() == (use.labels ? rows : 0));
    const auto empty =
        std::ranges::count_if(table.values, [](double value) { return std::isnan(value); });
    fuzz_expect(fills(missing) ? empty <= table.missing : empty == 0);
    fuzz_expect(std::ranges::none_of(table.values, [](double value) { return std::isinf(value); }));
    fuzz_expect(table.place(0) >= 0 && table.place(table.rows - 1) >= table.rows - 1);
}

}  // namespace cambrian
