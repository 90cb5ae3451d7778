#include "platform/linux/sqlite/shared_gate.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "platform/process.h"

namespace doclock::sqlite {
namespace {

/// See SharedGate. Some ten transactions that wait for the disk.
constexpr std::chrono::milliseconds kSlice{3};
/// A sweep is not urgent.
constexpr std::chrono::milliseconds kSweepPatience{20};

std::uint32_t* FutexOf(std::atomic<std::uint32_t>& word) noexcept {
  static_assert(sizeof word == sizeof(std::uint32_t));
  return reinterpret_cast<std::uint32_t*>(&word);
}

}  // namespace

SharedGate::SharedGate(const std::filesystem::path& database, Deadline deadline)
    : file_(database, deadline), process_(platform::ProcessId()) {
  ShowUp();
}

SharedGate::~SharedGate() { StepDown(); }

void SharedGate::ShowUp() noexcept {
  for (Attendant& attendant : file_.page().attendants) {
    std::int64_t nobody = 0;
    if (attendant.slot.compare_exchange_strong(nobody, slot())) {
      self_ = &attendant;
      return;
    }
  }
}

void SharedGate::StepDown() noexcept {
  AddWatchers(-watchers_.load());
  if (self_ != nullptr) self_->slot.store(0);
}

bool SharedGate::Enter(Deadline deadline) {
  if (!EnterAgain() && !EnterInTurn(deadline)) return false;
  file_.page().occupant.store(process_, std::memory_order_relaxed);
  return true;
}

bool SharedGate::EnterAgain() noexcept {
  if (std::chrono::steady_clock::now() >= slice_end_.load(std::memory_order_relaxed)) return false;
  GatePage& page = file_.page();
  if (!page.main.TryLock()) return false;
  if (page.turn.load(std::memory_order_relaxed) == turn_.load(std::memory_order_relaxed)) {
    return true;
  }
  page.main.Unlock();  // somebody else's turn has come
  return false;
}

bool SharedGate::EnterInTurn(Deadline deadline) noexcept {
  GatePage& page = file_.page();
  if (!page.queue.Lock(deadline)) return false;
  const bool entered = page.main.Lock(deadline);
  page.queue.Unlock();
  if (!entered) return false;
  turn_.store(page.turn.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  slice_end_.store(std::chrono::steady_clock::now() + kSlice, std::memory_order_relaxed);
  return true;
}

void SharedGate::Leave() noexcept { file_.page().main.Unlock(); }

std::string SharedGate::Occupant() const {
  return "process " + std::to_string(file_.page().occupant.load(std::memory_order_relaxed));
}

Liveness SharedGate::Look(std::int64_t slot) const noexcept {
  if (slot == file_.slot()) return Liveness::kAlive;
  if (slot == 0 || !file_.IsFromHere(slot)) return Liveness::kUnknown;
  return file_.Look(slot);
}

void SharedGate::Announce(const std::vector<Ring>& rings) noexcept {
  GatePage& page = file_.page();
  if (page.watchers.load() <= 0) return;
  std::uint32_t position = page.position.load(std::memory_order_relaxed);
  for (const Ring& ring : rings) {
    SharedRing& shared = page.rings[++position % GatePage::kRings];
    shared.collection.store(ring.collection, std::memory_order_relaxed);
    shared.key.store(ring.key, std::memory_order_relaxed);
  }
  page.position.store(position);
}

void SharedGate::Wake() noexcept {
  if (file_.page().watchers.load() > 0) Nudge();
}

void SharedGate::Nudge() noexcept {
  ::syscall(SYS_futex, FutexOf(file_.page().position), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void SharedGate::AddWatchers(int count) noexcept {
  watchers_.fetch_add(count);
  if (self_ != nullptr) self_->watchers.fetch_add(count);
  file_.page().watchers.fetch_add(count);
}

bool SharedGate::OthersWatch() const noexcept {
  return file_.page().watchers.load(std::memory_order_relaxed) >
         watchers_.load(std::memory_order_relaxed);
}

std::uint32_t SharedGate::Position() const noexcept { return file_.page().position.load(); }

void SharedGate::Await(std::uint32_t position, std::chrono::milliseconds at_most) noexcept {
  const timespec limit{.tv_sec = at_most.count() / 1000,
                       .tv_nsec = at_most.count() % 1000 * 1'000'000};
  ::syscall(SYS_futex, FutexOf(file_.page().position), FUTEX_WAIT, position, &limit, nullptr, 0);
}

bool SharedGate::Read(std::uint32_t& position, std::vector<Ring>& rings) const noexcept {
  const GatePage& page = file_.page();
  const std::uint32_t start = position;
  position = page.position.load();
  const std::uint32_t count = position - start;
  if (count > GatePage::kRings) return false;
  for (std::uint32_t i = 1; i <= count; ++i) {
    const SharedRing& shared = page.rings[(start + i) % GatePage::kRings];
    rings.push_back({shared.collection.load(std::memory_order_relaxed),
                     shared.key.load(std::memory_order_relaxed)});
  }
  // Written over meanwhile? (Somebody may also be about to: half the rings must be left.)
  std::atomic_thread_fence(std::memory_order_acquire);
  return page.position.load() - start <= GatePage::kRings / 2;
}

void SharedGate::Remove(Attendant& attendant, std::int64_t slot) noexcept {
  if (attendant.slot.load() != slot) return;
  file_.page().watchers.fetch_sub(attendant.watchers.exchange(0));
  attendant.slot.store(0);
}

void SharedGate::SweepTheDead() noexcept {
  bool found = false;
  for (Attendant& attendant : file_.page().attendants) {
    const std::int64_t slot = attendant.slot.load(std::memory_order_relaxed);
    if (slot == 0 || Look(slot) != Liveness::kDead) continue;
    // Without the gate nothing can be announced; then it is found again next time.
    if (!found && !Enter(std::chrono::steady_clock::now() + kSweepPatience)) return;
    found = true;
    Remove(attendant, slot);
  }
  if (!found) return;
  Announce({Ring{kAnyCollection, 0}});
  Leave();
  Wake();
}

std::unique_ptr<Gate> Gate::Open(const std::filesystem::path& database, Deadline deadline) {
  return std::make_unique<SharedGate>(database, deadline);
}

}  // namespace doclock::sqlite
