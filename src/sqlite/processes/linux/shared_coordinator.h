#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "sqlite/processes/linux/coordinator_file.h"
#include "sqlite/processes/process_coordinator.h"

namespace doclock::sqlite {

/// The coordinator over a page that all processes share.
///
/// A writer queues on one mutex (`queue`) for the next (`main`), so that no later writer overtakes
/// it. A process that had its turn may take it again at once for a short while (a slice): handing
/// over after each transaction would make every transaction wait for a thread to wake up, and
/// would drop SQLite's page cache each time.
class SharedCoordinator final : public ProcessCoordinator {
 public:
  SharedCoordinator(const std::filesystem::path& database, Deadline deadline);
  ~SharedCoordinator() override;

  bool Enter(Deadline deadline) noexcept override;
  void Leave() noexcept override;
  [[nodiscard]] std::string Occupant() const override;

  [[nodiscard]] Crowd Stores() const noexcept override;
  [[nodiscard]] std::optional<bool> Flushes() const noexcept override;
  void BeganEra(bool flushes) noexcept override;
  void NoteFailedFlush() noexcept override;
  [[nodiscard]] bool HasFailedFlush() const noexcept override;
  [[nodiscard]] std::int64_t slot() const noexcept override { return file_.slot(); }
  [[nodiscard]] Liveness Look(std::int64_t slot) const noexcept override;

  [[nodiscard]] bool has_notifications() const noexcept override { return true; }
  std::uint32_t Announce(const std::vector<Notification>& notifications) noexcept override;
  void Wake(std::uint32_t whom) noexcept override;
  void AddWatchers(int count) noexcept override;
  [[nodiscard]] bool OthersWatch() const noexcept override;
  [[nodiscard]] std::uint32_t Position() const noexcept override;
  void Await(std::uint32_t position, std::chrono::milliseconds at_most) noexcept override;
  bool Read(std::uint32_t& position,
            std::vector<Notification>& notifications) const noexcept override;
  void WakeAll() noexcept override;
  void ReapDeadStores() noexcept override;

 private:
  [[nodiscard]] bool EnterAgain() noexcept;
  [[nodiscard]] bool EnterInTurn(Deadline deadline) noexcept;
  void Remove(Participant& participant, std::int64_t slot) noexcept;  // during the write turn

  CoordinatorFile file_;
  const std::int64_t process_;
  Participant* self_ = nullptr;  ///< Null when the page is full: the others reap without us.
  std::atomic<std::int32_t> watchers_{0};  ///< Our share of CoordinatorPage::watchers.
  std::atomic<std::uint64_t> turn_{0};     ///< CoordinatorPage::turn of our last turn ...
  std::atomic<Deadline> slice_end_{Deadline::min()};  ///< ... which lasts until then.
};

}  // namespace doclock::sqlite
