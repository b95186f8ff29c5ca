#include "cambrian/evolve/tasks/table/windows.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {
namespace {

/// Appends the window that starts at a row of a series and counts rows [from, to).
void append(Windows& windows, std::int64_t first_row, std::int64_t series_rows, std::int64_t start,
            std::int64_t length, std::int64_t from, std::int64_t to) {
    for (std::int64_t row = start; row < start + length; ++row) {
        windows.rows.push_back(first_row + std::min(row, series_rows - 1));
        windows.counted.push_back(row >= from && row < to);
    }
    ++windows.count;
}

}  // namespace

Windows cover(std::span<const Series> series, std::int64_t length, std::int64_t warm_up) {
    CAMBRIAN_EXPECT(length > 0 && warm_up >= 0 && warm_up < length);
    Windows windows;
    std::int64_t first_row = 0;
    for (const Series& part : series) {
        for (std::int64_t from = 0; from < part.rows;) {
            const std::int64_t wanted = std::max<std::int64_t>(0, from - warm_up);
            const std::int64_t start =
                std::max<std::int64_t>(0, std::min(wanted, part.rows - length));
            const std::int64_t to = std::min(start + length, part.rows);
            append(windows, first_row, part.rows, start, length, from, to);
            from = to;
        }
        first_row += part.rows;
    }
    return windows;
}

std::vector<std::int64_t> draw_windows(std::span<const Series> series, std::int64_t length,
                                       std::int64_t count, RandomStream& rng) {
    std::int64_t choices = 0;
    for (const Series& part : series) choices += part.rows - length + 1;
    CAMBRIAN_ASSERT(choices > 0 && choices <= INT32_MAX);

    std::vector<std::int64_t> rows;
    rows.reserve(static_cast<std::size_t>(count * length));
    for (std::int64_t window = 0; window < count; ++window) {
        std::int64_t choice = rng.index(static_cast<std::uint32_t>(choices));
        std::int64_t first_row = 0;
        for (const Series& part : series) {
            const std::int64_t here = part.rows - length + 1;
            if (choice < here) break;
            choice -= here;
            first_row += part.rows;
        }
        for (std::int64_t step = 0; step < length; ++step)
            rows.push_back(first_row + choice + step);
    }
    return rows;
}

}  // namespace cambrian::evolve
