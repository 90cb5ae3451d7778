#include "sqlite/processes/linux/shared_coordinator.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <filesystem>
#include <new>
#include <system_error>

#include "platform/process.h"

namespace doclock::sqlite {
namespace {

/// See SharedCoordinator. Some ten transactions that wait for the disk.
constexpr std::chrono::milliseconds kSlice{3};
/// How long a sweep waits for the write turn; it is not urgent.
constexpr std::chrono::milliseconds kSweepTimeout{20};

/// The watchers that a notification for this store wakes: about one in 32, and those of builds that
/// know no bits. They find out by reading it whether it is theirs.
std::uint32_t WakeBits(std::int64_t slot) noexcept {
  return slot == 0 ? FUTEX_BITSET_MATCH_ANY : std::uint32_t{1} << (slot % 32);
}

std::uint32_t* FutexOf(std::atomic<std::uint32_t>& word) noexcept {
  static_assert(sizeof word == sizeof(std::uint32_t));
  return reinterpret_cast<std::uint32_t*>(&word);
}

}  // namespace

SharedCoordinator::SharedCoordinator(const std::filesystem::path& database, Deadline deadline)
    : file_(database, deadline), process_(platform::ProcessId()) {
  for (Participant& participant : file_.page().participants) {
    std::int64_t free = 0;
    if (participant.slot.compare_exchange_strong(free, slot())) {
      self_ = &participant;
      return;
    }
  }
}

SharedCoordinator::~SharedCoordinator() {
  AddWatchers(-watchers_.load());
  if (self_ != nullptr) self_->slot.store(0);
}

ProcessCoordinator::Crowd SharedCoordinator::Stores() const noexcept {
  Crowd crowd;
  for (const Participant& participant : file_.page().participants) {
    const std::int64_t slot = participant.slot.load(std::memory_order_relaxed);
    ++crowd.room;
    if (slot != 0 && Look(slot) != Liveness::kDead) ++crowd.stores;
  }
  return crowd;
}

/// The first store to open the file makes the page anew.
std::optional<bool> SharedCoordinator::Flushes() const noexcept {
  const std::uint32_t era = file_.page().era.load();
  if (era == 0) return std::nullopt;
  return era == 1;
}

void SharedCoordinator::BeganEra(bool flushes) noexcept {
  file_.page().flush_failed.store(0);
  file_.page().era.store(flushes ? 1 : 2);
}

void SharedCoordinator::NoteFailedFlush() noexcept { file_.page().flush_failed.store(1); }

bool SharedCoordinator::HasFailedFlush() const noexcept {
  return file_.page().flush_failed.load() != 0;
}

bool SharedCoordinator::Enter(Deadline deadline) noexcept {
  if (!EnterAgain() && !EnterInTurn(deadline)) return false;
  file_.page().occupant.store(process_, std::memory_order_relaxed);
  return true;
}

bool SharedCoordinator::EnterAgain() noexcept {
  if (std::chrono::steady_clock::now() >= slice_end_.load(std::memory_order_relaxed)) return false;
  CoordinatorPage& page = file_.page();
  if (!page.main.TryLock()) return false;
  if (page.turn.load(std::memory_order_relaxed) == turn_.load(std::memory_order_relaxed)) {
    return true;
  }
  page.main.Unlock();  // another process had a turn since ours
  return false;
}

bool SharedCoordinator::EnterInTurn(Deadline deadline) noexcept {
  CoordinatorPage& page = file_.page();
  if (!page.queue.Lock(deadline)) return false;
  const bool entered = page.main.Lock(deadline);
  page.queue.Unlock();
  if (!entered) return false;
  turn_.store(page.turn.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  slice_end_.store(std::chrono::steady_clock::now() + kSlice, std::memory_order_relaxed);
  return true;
}

void SharedCoordinator::Leave() noexcept { file_.page().main.Unlock(); }

std::string SharedCoordinator::Occupant() const {
  return "process " + std::to_string(file_.page().occupant.load(std::memory_order_relaxed));
}

Liveness SharedCoordinator::Look(std::int64_t slot) const noexcept {
  if (slot == file_.slot()) return Liveness::kAlive;
  if (slot == 0 || !file_.IsFromHere(slot)) return Liveness::kUnknown;
  return file_.Look(slot);
}

std::uint32_t SharedCoordinator::Announce(const std::vector<Notification>& notifications) noexcept {
  CoordinatorPage& page = file_.page();
  if (page.watchers.load() <= 0) return 0;
  std::uint32_t whom = 0;
  std::uint32_t position = page.position.load(std::memory_order_relaxed);
  for (const Notification& notification : notifications) {
    SharedNotification& shared = page.notifications[++position % CoordinatorPage::kNotifications];
    shared.collection.store(AddressedTo(notification.slot, notification.collection),
                            std::memory_order_relaxed);
    shared.key.store(notification.key, std::memory_order_relaxed);
    whom |= WakeBits(notification.slot);
  }
  page.position.store(position);
  return whom;
}

void SharedCoordinator::Wake(std::uint32_t whom) noexcept {
  if (whom == 0 || file_.page().watchers.load() <= 0) return;
  ::syscall(SYS_futex, FutexOf(file_.page().position), FUTEX_WAKE_BITSET, INT_MAX, nullptr, nullptr,
            whom);
}

void SharedCoordinator::WakeAll() noexcept {
  ::syscall(SYS_futex, FutexOf(file_.page().position), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// A process may die between any two of these steps, and ReapDeadStores then takes away what the
/// participant shows: so the sum is never less than what all participants show. Too large a sum
/// only causes a spurious wake-up.
void SharedCoordinator::AddWatchers(int count) noexcept {
  watchers_.fetch_add(count);
  std::atomic<std::int32_t>& sum = file_.page().watchers;
  if (count > 0) sum.fetch_add(count);
  if (self_ != nullptr) self_->watchers.fetch_add(count);
  if (count < 0) sum.fetch_add(count);
}

bool SharedCoordinator::OthersWatch() const noexcept {
  return file_.page().watchers.load(std::memory_order_relaxed) >
         watchers_.load(std::memory_order_relaxed);
}

std::uint32_t SharedCoordinator::Position() const noexcept { return file_.page().position.load(); }

void SharedCoordinator::Await(std::uint32_t position, std::chrono::milliseconds at_most) noexcept {
  // FUTEX_WAIT_BITSET takes an absolute time.
  timespec end{};
  ::clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += at_most.count() / 1000;
  end.tv_nsec += at_most.count() % 1000 * 1'000'000;
  if (end.tv_nsec >= 1'000'000'000) {
    ++end.tv_sec;
    end.tv_nsec -= 1'000'000'000;
  }
  ::syscall(SYS_futex, FutexOf(file_.page().position), FUTEX_WAIT_BITSET, position, &end, nullptr,
            WakeBits(slot()));
}

bool SharedCoordinator::Read(std::uint32_t& position,
                             std::vector<Notification>& notifications) const noexcept {
  const CoordinatorPage& page = file_.page();
  const std::uint32_t start = position;
  position = page.position.load();
  const std::uint32_t count = position - start;
  if (count > CoordinatorPage::kNotifications) return false;
  try {
    notifications.reserve(notifications.size() + count);
  } catch (const std::bad_alloc&) {
    return false;
  }
  for (std::uint32_t i = 1; i <= count; ++i) {
    const SharedNotification& shared =
        page.notifications[(start + i) % CoordinatorPage::kNotifications];
    notifications.push_back({shared.collection.load(std::memory_order_relaxed),
                             shared.key.load(std::memory_order_relaxed)});
  }
  // Overwritten meanwhile? Another process may be about to overwrite more: half must be left.
  std::atomic_thread_fence(std::memory_order_acquire);
  return page.position.load() - start <= CoordinatorPage::kNotifications / 2;
}

void SharedCoordinator::Remove(Participant& participant, std::int64_t slot) noexcept {
  if (participant.slot.load() != slot) return;
  file_.page().watchers.fetch_sub(participant.watchers.exchange(0));
  participant.slot.store(0);
}

void SharedCoordinator::ReapDeadStores() noexcept {
  bool found = false;
  for (Participant& participant : file_.page().participants) {
    const std::int64_t slot = participant.slot.load(std::memory_order_relaxed);
    if (slot == 0 || Look(slot) != Liveness::kDead) continue;
    // Outside the write turn nothing can be announced: the next sweep finds it again.
    if (!found && !Enter(std::chrono::steady_clock::now() + kSweepTimeout)) return;
    found = true;
    Remove(participant, slot);
  }
  if (!found) return;
  const std::uint32_t whom = Announce({Notification{kAnyCollection, 0}});
  Leave();
  Wake(whom);
}

bool ProcessCoordinator::HasFile() noexcept { return true; }

std::unique_ptr<ProcessCoordinator> ProcessCoordinator::Join(const std::filesystem::path& database,
                                                             Deadline deadline) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(database.string() + "-doclock", error);
  if (status.type() == std::filesystem::file_type::not_found) return nullptr;
  return Open(database, deadline);
}

std::unique_ptr<ProcessCoordinator> ProcessCoordinator::Open(const std::filesystem::path& database,
                                                             Deadline deadline) {
  return std::make_unique<SharedCoordinator>(database, deadline);
}

}  // namespace doclock::sqlite
