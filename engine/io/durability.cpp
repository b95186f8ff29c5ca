#include "cambrian/engine/io/durability.hpp"

#include <atomic>

namespace cambrian {
namespace {

std::atomic<int> unsynced{0};

}  // namespace

WithoutSync::WithoutSync() {
    ++unsynced;
}

WithoutSync::~WithoutSync() {
    --unsynced;
}

bool syncs_files() {
    return unsynced.load() == 0;
}

}  // namespace cambrian
