#include "engine/graph/graph.hpp"

namespace consumer {
int answer() {
    return 42;
}
}  // namespace consumer
