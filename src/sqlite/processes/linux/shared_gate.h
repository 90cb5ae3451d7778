#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sqlite/processes/gate.h"
#include "sqlite/processes/linux/gate_file.h"

namespace doclock::sqlite {

/// The gate over a page shared by all processes.
///
/// Whoever wants to write queues up on one mutex for the next one, so that nobody who comes later
/// gets in earlier. But a process that had its turn may come back at once for a short while (a
/// slice): changing places with each transaction would make every one of them wait for a thread to
/// wake up, and drop SQLite's page cache each time.
class SharedGate final : public Gate {
 public:
  SharedGate(const std::filesystem::path& database, Deadline deadline);
  ~SharedGate() override;

  bool Enter(Deadline deadline) override;
  void Leave() noexcept override;
  [[nodiscard]] std::string Occupant() const override;

  [[nodiscard]] bool OthersHave(const std::function<std::uint32_t()>& files) const override;
  [[nodiscard]] bool Register(std::uint32_t files) noexcept override;
  [[nodiscard]] std::int64_t slot() const noexcept override { return file_.slot(); }
  [[nodiscard]] Liveness Look(std::int64_t slot) const noexcept override;

  [[nodiscard]] bool has_bell() const noexcept override { return true; }
  void Announce(const std::vector<Ring>& rings) noexcept override;
  void Wake() noexcept override;
  void AddWatchers(int count) noexcept override;
  [[nodiscard]] bool OthersWatch() const noexcept override;
  [[nodiscard]] std::uint32_t Position() const noexcept override;
  void Await(std::uint32_t position, std::chrono::milliseconds at_most) noexcept override;
  bool Read(std::uint32_t& position, std::vector<Ring>& rings) const noexcept override;
  void Nudge() noexcept override;
  void ReapDeadStores() noexcept override;

 private:
  [[nodiscard]] bool EnterAgain() noexcept;
  [[nodiscard]] bool EnterInTurn(Deadline deadline);
  [[nodiscard]] bool Wait(SharedMutex& mutex, Deadline deadline);
  void CheckWhole() const;
  void ShowUp() noexcept;
  void StepDown() noexcept;
  void Sweep();
  void Remove(Attendant& attendant, std::int64_t slot) noexcept;  // inside the gate

  mutable GateFile file_;  ///< IsWhole changes what it maps.
  const std::int64_t process_;
  Attendant* self_ = nullptr;              ///< Null when the page is full: others sweep without us.
  std::atomic<std::int32_t> watchers_{0};  ///< Our share of GatePage::watchers.
  std::atomic<std::uint64_t> turn_{0};     ///< GatePage::turn of our last turn ...
  std::atomic<Deadline> slice_end_{Deadline::min()};  ///< ... which lasts until then.
};

}  // namespace doclock::sqlite
