#include "sqlite/processes/process_coordinator.h"

namespace doclock::sqlite {
namespace {

/// SQLite's own lock is the only queue, and leases are the only sign of life.
class NullCoordinator final : public ProcessCoordinator {
 public:
  bool Enter(Deadline) noexcept override { return true; }
  void Leave() noexcept override {}
  [[nodiscard]] std::string Occupant() const override { return {}; }
  [[nodiscard]] Crowd Stores() const noexcept override { return {}; }
  [[nodiscard]] std::optional<bool> Flushes() const noexcept override { return std::nullopt; }
  void BeganEra(bool) noexcept override {}
  /// Each commit is flushed: only the one that failed is missing, and the next one replaces it.
  void NoteFailedFlush() noexcept override {}
  [[nodiscard]] bool HasFailedFlush() const noexcept override { return false; }
  [[nodiscard]] std::int64_t slot() const noexcept override { return 0; }
  [[nodiscard]] Liveness Look(std::int64_t) const noexcept override { return Liveness::kUnknown; }
  [[nodiscard]] bool has_notifications() const noexcept override { return false; }
  std::uint32_t Announce(const std::vector<Notification>&) noexcept override { return 0; }
  void Wake(std::uint32_t) noexcept override {}
  void AddWatchers(int) noexcept override {}
  /// Unknown here: yes, to be safe.
  [[nodiscard]] bool OthersWatch() const noexcept override { return true; }
  [[nodiscard]] std::uint32_t Position() const noexcept override { return 0; }
  void Await(std::uint32_t, std::chrono::milliseconds) noexcept override {}
  bool Read(std::uint32_t&, std::vector<Notification>&) const noexcept override { return false; }
  void WakeAll() noexcept override {}
  void ReapDeadStores() noexcept override {}
};

}  // namespace

bool ProcessCoordinator::HasFile() noexcept { return false; }

std::unique_ptr<ProcessCoordinator> ProcessCoordinator::Join(const std::filesystem::path&,
                                                             Deadline) {
  return nullptr;
}

std::unique_ptr<ProcessCoordinator> ProcessCoordinator::Open(const std::filesystem::path&,
                                                             Deadline) {
  return std::make_unique<NullCoordinator>();
}

bool IsMountedAlone(const std::filesystem::path&) { return false; }

void CheckFileSystem(const std::filesystem::path&) {}

}  // namespace doclock::sqlite
