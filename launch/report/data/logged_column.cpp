#include "cambrian/launch/report/data/logged_column.hpp"

#include <algorithm>
#include <limits>

namespace cambrian::launch {

void ColumnThinner::Cell::join(const Cell& next) {
    gap |= next.gap;
    if (!next.any) return;
    if (!any) first = next.first;
    if (!any || next.low.value <= low.value) low = next.low;
    if (!any || next.high.value > high.value) high = next.high;
    last = next.last;
    any = true;
}

void ColumnThinner::add(double generation, double value) {
    Cell one{.begin = generation};
    one.any = std::isfinite(value);
    one.gap = !one.any;
    one.first = one.low = one.high = one.last = {generation, value};
    cells_.of(generation).join(one);
}

LoggedColumn ColumnThinner::column() const {
    LoggedColumn column;
    const auto push = [&](double generation, double value) {
        column.generation.push_back(generation);
        column.value.push_back(value);
    };
    for (const Cell& cell : cells_.all()) {
        // Within a cell of several generations no eye tells where.
        if (cell.gap) push(cell.begin, std::numeric_limits<double>::quiet_NaN());
        if (!cell.any) continue;
        const bool falls = cell.high.generation < cell.low.generation;
        double told = -1.0;
        for (const Point* point : {&cell.first, falls ? &cell.high : &cell.low,
                                   falls ? &cell.low : &cell.high, &cell.last}) {
            if (point->generation <= told) continue;
            push(point->generation, point->value);
            told = point->generation;
        }
    }
    return column;
}

LoggedColumn ColumnThinner::sample() const {
    LoggedColumn sample;
    const auto push = [&](const Point& point) {
        sample.generation.push_back(point.generation);
        sample.value.push_back(point.value);
    };
    const Cell* last = nullptr;
    for (const Cell& cell : cells_.all()) {
        if (!cell.any) continue;
        push(cell.first);
        last = &cell;
    }
    if (last != nullptr && last->last.generation > last->first.generation) push(last->last);
    return sample;
}

void MeanColumn::add(double generation, double value) {
    Cell& cell = cells_.of(generation);
    cell.sum += value;
    ++cell.count;
    last_ = std::max(last_, generation);
}

}  // namespace cambrian::launch
