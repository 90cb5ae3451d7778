#include "plain/cases.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

namespace doclock::plain_test {
namespace {

using rules::LockState;
using std::chrono::hours;

// Ids of one document: no other has the same.
constexpr int kHolders[] = {1, 2}, kShares[] = {11, 12, 13};
constexpr int kNewIds[] = {31, 32}, kBorn[] = {0, 41, 42}, kStoredMarks[] = {0, 51};
constexpr int kMark = 52, kWriteId = 61;
constexpr int kWaiters[] = {71, 72, 73};
/// Of the entries of a full queue.
constexpr int kCrowd = 101;
constexpr int kVersions = 4;

class Dice {
 public:
  /// @param number of the case
  Dice(std::uint64_t number, std::uint64_t seed) : number_(number), engine_(seed) {}

  /// One of these; 0 is nil.
  template <std::size_t kSize>
  Uuid IdOf(const int (&ids)[kSize]) {
    return Id(Of(ids));
  }
  [[nodiscard]] Uuid Id(int id) const { return id == 0 ? Uuid{} : plain_test::IdOf(id, number_); }

  int Below(int bound) { return static_cast<int>(engine_() % static_cast<unsigned>(bound)); }
  bool OneIn(int n) { return Below(n) == 0; }
  template <class T, std::size_t kSize>
  const T& Of(const T (&values)[kSize]) {
    return values[Below(static_cast<int>(kSize))];
  }
  /// What is stored ends after an even number of hours, what is asked for after an odd one: no two
  /// moments are the same.
  TimePoint Stored() { return kNow + 2 * hours(Below(7) - 3); }
  hours Asked() { return hours(1 + 2 * Below(4)); }
  OwnerPtr Owner(const std::string& name) {
    if (OneIn(4)) return nullptr;
    LockHolder holder;
    holder.name = name;
    return std::make_shared<const LockHolder>(std::move(holder));
  }
  std::string Group() {
    constexpr const char* kGroups[] = {"", "red", "blue"};
    return Of(kGroups);
  }

 private:
  std::uint64_t number_;
  std::mt19937_64 engine_;
};

rules::Lease LeaseUntil(Dice& dice, TimePoint end) {
  const hours left = std::max(std::chrono::round<hours>(end - kNow), hours(0));
  const hours ttl =
      dice.OneIn(4) ? std::max(hours(kDefaultTtl), left) : left + hours(dice.Below(3));
  return {end - ttl, ttl};
}

void HoldExclusively(Dice& dice, LockState& lock) {
  // A waiter may have been granted the lock.
  lock.lock_id = dice.OneIn(4) ? dice.IdOf(kWaiters) : dice.IdOf(kHolders);
  lock.lease = LeaseUntil(dice, dice.Stored());
  lock.granted = lock.lease.since;
  lock.owner = dice.Owner("holder");
  lock.group = dice.Group();
  // The holder may have saved since.
  lock.fence = dice.OneIn(2) ? lock.version : dice.Below(static_cast<int>(lock.version) + 1);
}

void HoldShared(Dice& dice, LockState& lock) {
  lock.lock_id = kSharedLockId;
  std::array hours_left = {-4, -2, 2, 4, 6};
  const int count = 1 + dice.Below(3);
  for (int i = 0; i < count; ++i) {
    std::swap(hours_left[i], hours_left[i + dice.Below(5 - i)]);
    const rules::Lease lease = LeaseUntil(dice, kNow + hours(hours_left[i]));
    lock.shares.push_back({dice.Id(kShares[i]), lease.since, lease,
                           dice.Owner("share " + std::to_string(i)), dice.Group(),
                           1 + dice.Below(kVersions)});
  }
  const auto last = std::max_element(
      lock.shares.begin(), lock.shares.end(),
      [](const rules::Share& a, const rules::Share& b) { return a.lease.End() < b.lease.End(); });
  lock.lease = last->lease;
  lock.granted = last->granted;
  lock.owner = last->owner;
}

/// Once held, or never.
void Release(Dice& dice, LockState& lock) {
  if (dice.OneIn(2)) return;
  HoldExclusively(dice, lock);
  lock.lock_id = Uuid{};
  if (dice.OneIn(2)) lock.owner = nullptr;
}

void Enqueue(Dice& dice, LockState& lock, const Uuid& id, TimePoint until) {
  if (id == lock.lock_id) return;
  rules::QueueEntry entry;
  entry.id = id;
  entry.until = until;
  entry.ttl = dice.Asked();
  if (dice.OneIn(4)) entry.min_hold = dice.Asked();
  entry.owner = dice.Owner("waiter");
  entry.group = dice.Group();
  if (dice.OneIn(3)) {
    entry.mode = LockMode::kShared;
    entry.max_holders = dice.OneIn(3) ? kMaxHolders : 1 + dice.Below(4);
  }
  lock.queue.push_back(std::move(entry));
}

void FillQueue(Dice& dice, LockState& lock) {
  if (dice.OneIn(15)) {
    for (int i = 0; i < static_cast<int>(kMaxQueueEntries); ++i) {
      Enqueue(dice, lock, dice.Id(kCrowd + i), kNow + hours(2));
    }
    return;
  }
  std::array ids = {kWaiters[0], kWaiters[1], kWaiters[2]};
  const int count = 1 + dice.Below(3);
  for (int i = 0; i < count; ++i) {
    std::swap(ids[i], ids[i + dice.Below(3 - i)]);
    Enqueue(dice, lock, dice.Id(ids[i]), dice.Stored());
  }
}

Record RandomRecord(Dice& dice, int number) {
  Record record;
  LockState& lock = record.lock;
  lock.version = dice.Below(kVersions);
  lock.born = dice.IdOf(kBorn);
  lock.released = dice.IdOf(kStoredMarks);
  constexpr std::array kHold = {&Release, &HoldExclusively, &HoldShared};
  kHold[static_cast<std::size_t>(dice.Below(3))](dice, lock);
  if (dice.OneIn(3)) lock.closed_until = dice.Stored();
  if (dice.OneIn(2)) FillQueue(dice, lock);
  if (dice.OneIn(4)) return record;
  record.body["case"] = number;
  record.body["n"] = dice.Below(3);
  if (dice.OneIn(2)) record.body["m"] = dice.Below(3);
  return record;
}

template <class Op>
struct One : Operation {
  One(Collection& collection, const Case& of) : value(collection, of.key) {}
  StoreOp& op() override { return value; }

  Op value;
  GrantRequest next;
};

/// Makes the requests of one case.
class Asking {
 public:
  Asking(const Case& of, Collection& collection)
      : of_(of), collection_(collection), dice_(of.seed, ~of.seed) {}

  std::unique_ptr<Operation> Any() {
    switch (dice_.Below(16)) {
      case 0:
        return Read();
      case 1:
      case 2:
        return Renew();
      case 3:
      case 4:
      case 5:
        return Save();
      case 6:
      case 7:
      case 8:
      case 9:
        return Write();
      case 10:
        return ReleaseShare();
      default:
        return Acquire(dice_.OneIn(2) ? LockMode::kShared : LockMode::kExclusive);
    }
  }

  std::unique_ptr<Operation> Acquire(LockMode mode) {
    auto made = std::make_unique<One<AcquireOp>>(collection_, of_);
    AcquireOp& op = made->value;
    op.request.grant = Grant(mode);
    if (dice_.OneIn(of_.before ? 3 : 2)) op.request.insert = AnyBody();
    op.queue_likely = dice_.OneIn(2);  // right or not, it may change nothing but the commands
    return made;
  }

  std::unique_ptr<Operation> Intervention() {
    auto made = std::make_unique<One<WriteOp>>(collection_, of_);
    WriteOp& op = made->value;
    op.request.release_id = dice_.Id(kMark);
    if (lock().IsShared()) {
      op.request.mode = LockMode::kShared;
      op.request.lock_id = dice_.IdOf(kShares);
      return made;
    }
    op.request.lock_id = lock().lock_id;
    switch (dice_.Below(3)) {
      case 0:
        op.request.write = WriteKind::kCheckpoint;
        op.request.expected = lock().version;
        op.request.fence = lock().fence;
        break;
      case 1:
        made->next.lock_id = dice_.Id(kNewIds[0]);
        made->next.ttl = dice_.Asked();
        made->next.owner = dice_.Owner("stranger");
        made->next.detached = true;
        op.request.next = &made->next;
        break;
      default:
        break;
    }
    return made;
  }

 private:
  const LockState& lock() const {
    static const LockState kNone;
    return of_.before ? of_.before->lock : kNone;
  }

  GrantRequest Grant(LockMode mode) {
    GrantRequest grant;
    grant.mode = mode;
    grant.lock_id = dice_.IdOf(kNewIds);
    grant.ttl = dice_.Asked();
    grant.owner = dice_.Owner("taker");
    grant.group = dice_.Group();
    if (dice_.OneIn(4)) grant.min_hold = dice_.Asked();
    if (mode == LockMode::kShared) {
      if (dice_.OneIn(4))
        grant.lock_id = dice_.OneIn(4) ? dice_.IdOf(kWaiters) : dice_.IdOf(kShares);
      grant.max_holders = dice_.OneIn(3) ? kMaxHolders : dice_.Below(5);
    }
    if (dice_.OneIn(2)) Wait(grant);
    if (dice_.OneIn(50)) grant.lock_id = dice_.OneIn(2) ? Uuid{} : kSharedLockId;
    return grant;
  }

  void Wait(GrantRequest& grant) {
    grant.queue_for = dice_.Asked();
    if (dice_.OneIn(3)) return;
    const Uuid waiter = dice_.IdOf(kWaiters);
    // Among others the grant that there was would look like this attempt's. The store knows which
    // documents it has waited for, and this one not.
    if (of_.alone || waiter != lock().lock_id) grant.lock_id = waiter;
  }

  Uuid HolderId() {
    const bool is_held = lock().HasLockId() && !lock().IsShared();
    if (is_held && dice_.OneIn(2)) return lock().lock_id;
    if (dice_.OneIn(4)) return dice_.IdOf(kWaiters);
    if (dice_.OneIn(20)) return dice_.OneIn(2) ? Uuid{} : kSharedLockId;
    if (dice_.OneIn(8)) return dice_.IdOf(kShares);
    return dice_.IdOf(kHolders);
  }

  std::unique_ptr<Operation> Read() { return std::make_unique<One<ReadOp>>(collection_, of_); }

  std::unique_ptr<Operation> Renew() {
    auto made = std::make_unique<One<RenewOp>>(collection_, of_);
    RenewOp& op = made->value;
    if (dice_.OneIn(2)) op.request.mode = LockMode::kShared;
    op.request.lock_id =
        op.request.mode == LockMode::kShared && !dice_.OneIn(10) ? dice_.IdOf(kShares) : HolderId();
    op.request.ttl = dice_.Asked();
    return made;
  }

  std::unique_ptr<Operation> Write() {
    constexpr WriteKind kKinds[] = {WriteKind::kCheckpoint, WriteKind::kRelease,
                                    WriteKind::kRelease, WriteKind::kErase, WriteKind::kLeave};
    auto made = std::make_unique<One<WriteOp>>(collection_, of_);
    WriteOp& op = made->value;
    op.request.write = dice_.Of(kKinds);
    op.request.lock_id =
        op.request.write == WriteKind::kLeave && dice_.OneIn(3) ? dice_.IdOf(kShares) : HolderId();
    op.request.expected = Expected();
    // Among others a checkpoint at the version before would be taken for the one that made this.
    const bool stale =
        op.request.lock_id == lock().lock_id && op.request.expected == lock().version - 1;
    if (stale && !of_.alone) op.request.expected = kAnyVersion;
    if (dice_.OneIn(2)) op.request.born = lock().born;
    op.request.ttl = dice_.Asked();
    op.request.fence = lock().fence;
    if (op.request.write != WriteKind::kErase && op.request.write != WriteKind::kLeave &&
        !dice_.OneIn(3)) {
      op.request.body = AnyBody();
      op.request.merge = dice_.OneIn(2);
      op.request.base = Base();
    }
    if (dice_.OneIn(2)) op.request.release_id = dice_.Id(kMark);
    if (op.request.write == WriteKind::kRelease && dice_.OneIn(2)) {
      made->next = Grant(LockMode::kExclusive);
      if (made->next.queue_for.count() > 0) made->next.lock_id = dice_.IdOf(kNewIds);
      if (dice_.OneIn(2)) made->next.entry = dice_.IdOf(kWaiters);
      op.request.next = &made->next;
    }
    return made;
  }

  std::unique_ptr<Operation> ReleaseShare() {
    auto made = std::make_unique<One<WriteOp>>(collection_, of_);
    WriteOp& op = made->value;
    op.request.mode = LockMode::kShared;
    op.request.lock_id = dice_.OneIn(10) ? HolderId() : dice_.IdOf(kShares);
    if (dice_.OneIn(2)) op.request.release_id = dice_.Id(kMark);
    op.request.merge = dice_.OneIn(2);
    if (op.request.merge) op.request.body = AnyBody();
    if (dice_.OneIn(20)) op.request.expected = lock().version;
    return made;
  }

  std::unique_ptr<Operation> Save() {
    constexpr SaveKind kKinds[] = {SaveKind::kInsert, SaveKind::kReplace, SaveKind::kReplace,
                                   SaveKind::kErase};
    auto made = std::make_unique<One<SaveOp>>(collection_, of_);
    SaveOp& op = made->value;
    op.request.save = dice_.Of(kKinds);
    op.request.expected = Expected();
    op.request.born = dice_.OneIn(4) ? dice_.IdOf(kBorn) : lock().born;
    op.request.write_id = dice_.Id(kWriteId);
    if (op.request.save != SaveKind::kErase && !dice_.OneIn(6)) op.request.body = AnyBody();
    if (op.request.body && op.request.save == SaveKind::kReplace) op.request.base = Base();
    return made;
  }

  std::int64_t Expected() {
    if (dice_.OneIn(4)) return kAnyVersion;
    return dice_.OneIn(4) ? dice_.Below(kVersions) : lock().version;
  }

  Body AnyBody() {
    nlohmann::json body = nlohmann::json::object();
    if (dice_.OneIn(2)) body["n"] = dice_.Below(3);
    if (dice_.OneIn(2)) body["o"] = dice_.Below(3);
    return Body::FromJson(std::move(body));
  }

  Body Base() { return of_.before && dice_.OneIn(2) ? Body::FromJson(of_.before->body) : Body(); }

  const Case& of_;
  Collection& collection_;
  Dice dice_;
};

}  // namespace

Case::Case(std::uint64_t number)
    : seed(number), key("case " + std::to_string(number)), alone(number % 2 == 0) {
  Dice dice(seed, seed);
  if (!dice.OneIn(8)) before = RandomRecord(dice, static_cast<int>(seed % 1'000'000'000));
}

std::unique_ptr<Operation> OperationOf(const Case& one, Collection& collection) {
  return Asking(one, collection).Any();
}

std::unique_ptr<Operation> InterventionOf(const Case& one, Collection& collection) {
  return Asking(one, collection).Intervention();
}

std::unique_ptr<Operation> AcquireOf(const Case& one, Collection& collection) {
  return Asking(one, collection).Acquire(LockMode::kExclusive);
}

}  // namespace doclock::plain_test
