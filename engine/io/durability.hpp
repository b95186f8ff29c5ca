#pragma once

namespace cambrian {

/// While one lives, nothing that this process writes waits for the disk: for files that are made
/// again at little cost. They survive the death of the process, not that of the host.
class WithoutSync {
  public:
    WithoutSync();
    ~WithoutSync();
    WithoutSync(const WithoutSync&) = delete;
    WithoutSync& operator=(const WithoutSync&) = delete;
};

/// Whether files that are to last wait for the disk.
[[nodiscard]] bool syncs_files();

}  // namespace cambrian
