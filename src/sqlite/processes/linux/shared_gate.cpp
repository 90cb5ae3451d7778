#include "sqlite/processes/linux/shared_gate.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <system_error>
#include <thread>

#include "platform/process.h"
#include "sqlite/db/database_error.h"

namespace doclock::sqlite {
namespace {

/// See SharedGate. Some ten transactions that wait for the disk.
constexpr std::chrono::milliseconds kSlice{3};
/// So long a wait for a mutex may last before the page is looked after.
constexpr std::chrono::seconds kWaitSlice{1};
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
  if (!file_.IsWhole()) return;
  AddWatchers(-watchers_.load());
  if (self_ == nullptr) return;
  self_->files.store(0);
  self_->slot.store(0);
}

bool SharedGate::OthersHave(const std::function<std::uint32_t()>& files) const {
  if (!file_.IsWhole()) return true;
  for (const Attendant& other : file_.page().attendants) {
    const std::uint32_t theirs = other.files.load();
    const std::int64_t slot = other.slot.load();
    if (theirs == 0 || theirs == files()) continue;
    // A store that closes says so before its files go: it had them open all the while.
    if (other.files.load() == theirs && Look(slot) == Liveness::kAlive) return false;
  }
  return true;
}

bool SharedGate::Register(std::uint32_t files) noexcept {
  if (!file_.IsWhole()) return true;
  for (const Attendant& other : file_.page().attendants) {
    if (files == 0) break;
    const std::uint32_t theirs = other.files.load();
    if (theirs == 0 || theirs == files) continue;
    if (Look(other.slot.load()) == Liveness::kAlive) return false;
  }
  if (self_ != nullptr) self_->files.store(files);
  return true;
}

void SharedGate::CheckWhole() const {
  if (file_.IsWhole()) return;
  throw RefusedError(file_.path().string() + " was truncated while it was open");
}

bool SharedGate::Enter(Deadline deadline) {
  CheckWhole();
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

/// In slices: the C library touches the mutex after a wait, unless its time was up.
bool SharedGate::Wait(SharedMutex& mutex, Deadline deadline) {
  for (;;) {
    const Deadline slice = std::min(deadline, std::chrono::steady_clock::now() + kWaitSlice);
    if (mutex.Lock(slice)) return true;
    CheckWhole();
    const Deadline now = std::chrono::steady_clock::now();
    if (now >= deadline || now < slice) return false;  // too late, or no mutex any more
  }
}

bool SharedGate::EnterInTurn(Deadline deadline) {
  GatePage& page = file_.page();
  if (!Wait(page.queue, deadline)) return false;
  const bool entered = Wait(page.main, deadline);
  page.queue.Unlock();
  if (!entered) return false;
  turn_.store(page.turn.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  slice_end_.store(std::chrono::steady_clock::now() + kSlice, std::memory_order_relaxed);
  return true;
}

void SharedGate::Leave() noexcept {
  if (file_.IsWhole()) file_.page().main.Unlock();
}

std::string SharedGate::Occupant() const {
  if (!file_.IsWhole()) return "another process";
  return "process " + std::to_string(file_.page().occupant.load(std::memory_order_relaxed));
}

Liveness SharedGate::Look(std::int64_t slot) const noexcept {
  if (slot == file_.slot()) return Liveness::kAlive;
  if (slot == 0 || !file_.IsFromHere(slot)) return Liveness::kUnknown;
  return file_.Look(slot);
}

void SharedGate::Announce(const std::vector<Ring>& rings) noexcept {
  if (!file_.IsWhole()) return;
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
  if (file_.IsWhole() && file_.page().watchers.load() > 0) Nudge();
}

void SharedGate::Nudge() noexcept {
  ::syscall(SYS_futex, FutexOf(file_.page().position), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// A process may die between any two of these steps, and ReapDeadStores then takes away what the
/// attendant shows: so the sum is never less than what all attendants show. Too much of it only
/// rings a bell in vain.
void SharedGate::AddWatchers(int count) noexcept {
  watchers_.fetch_add(count);
  if (!file_.IsWhole()) return;
  std::atomic<std::int32_t>& sum = file_.page().watchers;
  if (count > 0) sum.fetch_add(count);
  if (self_ != nullptr) self_->watchers.fetch_add(count);
  if (count < 0) sum.fetch_add(count);
}

bool SharedGate::OthersWatch() const noexcept {
  if (!file_.IsWhole()) return true;
  return file_.page().watchers.load(std::memory_order_relaxed) >
         watchers_.load(std::memory_order_relaxed);
}

std::uint32_t SharedGate::Position() const noexcept {
  return file_.IsWhole() ? file_.page().position.load() : 0;
}

void SharedGate::Await(std::uint32_t position, std::chrono::milliseconds at_most) noexcept {
  if (!file_.IsWhole()) {
    std::this_thread::sleep_for(at_most);
    return;
  }
  const timespec limit{.tv_sec = at_most.count() / 1000,
                       .tv_nsec = at_most.count() % 1000 * 1'000'000};
  ::syscall(SYS_futex, FutexOf(file_.page().position), FUTEX_WAIT, position, &limit, nullptr, 0);
}

bool SharedGate::Read(std::uint32_t& position, std::vector<Ring>& rings) const noexcept {
  if (!file_.IsWhole()) return false;
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
  attendant.files.store(0);
  attendant.slot.store(0);
}

void SharedGate::ReapDeadStores() noexcept {
  try {
    Sweep();
  } catch (const DatabaseError&) {
    // Truncated: there is nothing left to sweep.
  }
}

void SharedGate::Sweep() {
  CheckWhole();
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

std::unique_ptr<Gate> Gate::Join(const std::filesystem::path& database, Deadline deadline) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(database.string() + "-doclock", error);
  if (status.type() == std::filesystem::file_type::not_found) return nullptr;
  return Open(database, deadline);
}

std::unique_ptr<Gate> Gate::Open(const std::filesystem::path& database, Deadline deadline) {
  return std::make_unique<SharedGate>(database, deadline);
}

}  // namespace doclock::sqlite
