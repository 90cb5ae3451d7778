/// The thread that hears of other processes has no memory: what is lost is told all the same.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>

#include "allocation/failing_new.h"
#include "sqlite/processes/notification_listener.h"

namespace doclock::allocation_test {
namespace {

/// Loses all notifications, and leaves the thread that reads them without memory.
class Lossy final : public sqlite::ProcessCoordinator {
 public:
  bool Read(std::uint32_t&, std::vector<sqlite::Notification>&) const noexcept override {
    thread_local std::optional<CodeUnderTest> without_memory;
    if (!without_memory) without_memory.emplace();
    return false;
  }

  bool Enter(sqlite::Deadline) noexcept override { return true; }
  void Leave() noexcept override {}
  std::string Occupant() const override { return {}; }
  Crowd Stores() const noexcept override { return {}; }
  std::optional<bool> Flushes() const noexcept override { return std::nullopt; }
  void BeganEra(bool) noexcept override {}
  void NoteFailedFlush() noexcept override {}
  bool HasFailedFlush() const noexcept override { return false; }
  std::int64_t slot() const noexcept override { return 1; }
  sqlite::Liveness Look(std::int64_t) const noexcept override { return sqlite::Liveness::kUnknown; }
  bool has_notifications() const noexcept override { return true; }
  std::uint32_t Announce(const std::vector<sqlite::Notification>&) noexcept override { return 0; }
  void Wake(std::uint32_t) noexcept override {}
  void AddWatchers(int) noexcept override {}
  bool OthersWatch() const noexcept override { return true; }
  std::uint32_t Position() const noexcept override { return 0; }
  void Await(std::uint32_t, std::chrono::milliseconds) noexcept override {}
  void WakeAll() noexcept override {}
  void ReapDeadStores() noexcept override {}
};

TEST(SqliteHintsAllocation, NeedNoMemoryToBeToldAsLost) {
  const auto listener = std::make_shared<sqlite::NotificationListener>(std::make_shared<Lossy>());
  std::atomic<int> heard = 0;
  FailingNew::FailAt(1, INT64_MAX);
  const auto watch = listener->Add(sqlite::TagOf("things"), [&](const LockHint& hint) {
    heard = hint.hash || hint.grant ? 2 : 1;
    heard.notify_all();
  });
  heard.wait(0);
  FailingNew::Disarm();
  EXPECT_EQ(heard, 1) << "of any document";
}

}  // namespace
}  // namespace doclock::allocation_test
