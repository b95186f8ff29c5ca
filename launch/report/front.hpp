#pragma once

#include <string>
#include <vector>

namespace cambrian::launch {

/// A network with its price.
struct Candidate {
    double cost = 0.0;
    double fitness = 0.0;
};

/// Those that no other one beats in both, a lower cost and a higher fitness: by rising cost. Of
/// equal ones one; those with numbers that are not finite are in none.
[[nodiscard]] std::vector<Candidate> front_of(std::vector<Candidate> all);

/// All of them, and their front, as HTML; empty where there are fewer than two different ones.
[[nodiscard]] std::string front_html(const std::string& title, const std::string& cost_name,
                                     std::vector<Candidate> all);

}  // namespace cambrian::launch
