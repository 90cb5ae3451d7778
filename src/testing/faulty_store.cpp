#include "doclock/testing/faulty_store.h"

#include <array>
#include <atomic>
#include <new>
#include <utility>
#include <vector>

#include "testing/fault_plan.h"
#include "testing/op_copy.h"

namespace doclock::testing {
namespace {

using Milliseconds = std::chrono::milliseconds;

/// For late effects, which no caller waits for.
constexpr Milliseconds kLateBudget{10'000};

/// Gives the operation the result of a fault. The store's own result, if any, stays hidden.
void Settle(StoreOp& op, Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::kErrorBefore:
      return op.Fail(Errc::kUnavailable, "the store could not be reached (injected)");
    case Fault::Kind::kRefused:
      return op.Fail(Errc::kRefused, "the store refused (injected)");
    case Fault::Kind::kLostBefore:
    case Fault::Kind::kLostAfter:
    case Fault::Kind::kLate:
      if (op.kind == OpKind::kRead) {
        return op.Fail(Errc::kUnavailable, "the reply was lost (injected)");
      }
      return op.Doubt("the reply was lost (injected)");
    case Fault::Kind::kThrow:
      throw std::bad_alloc();
  }
}

}  // namespace

struct FaultyStore::State {
  using Hook = std::function<void(std::span<StoreOp* const>)>;
  /// An effect that is still to come.
  using Late = std::function<void(Store&)>;
  /// An operation and what goes wrong with it.
  using Struck = std::vector<std::pair<StoreOp*, Fault::Kind>>;

  explicit State(std::shared_ptr<Store> store) : inner(std::move(store)) {}

  Hook CurrentHook() {
    const std::lock_guard guard(mutex);
    return hook;
  }
  void AddLate(Late effect) {
    const std::lock_guard guard(mutex);
    late.push_back(std::move(effect));
  }
  std::vector<Late> TakeLate() {
    const std::lock_guard guard(mutex);
    return std::exchange(late, {});
  }

  /// Splits a batch into operations with a fault and those without.
  Struck StrikeAll(std::span<StoreOp* const> ops, std::vector<StoreOp*>& passing);
  void HoldBack(const StoreOp& op);
  void HoldBack(const CommitOp& commit);
  void HoldBack(const Filter& filter, const AcquireOp& op);

  std::shared_ptr<Store> inner;
  FaultPlan plan;
  std::shared_ptr<std::atomic<bool>> drop_hints = std::make_shared<std::atomic<bool>>(false);
  std::mutex mutex;
  Hook hook;
  std::vector<Late> late;
};

FaultyStore::State::Struck FaultyStore::State::StrikeAll(std::span<StoreOp* const> ops,
                                                         std::vector<StoreOp*>& passing) {
  Struck struck;
  bool throws = false;
  for (StoreOp* op : ops) {
    const std::optional<Fault::Kind> kind = plan.Strike(op->kind, op->key);
    throws = throws || kind == Fault::Kind::kThrow;
    if (kind) {
      struck.emplace_back(op, *kind);
    } else {
      passing.push_back(op);
    }
  }
  if (throws) throw std::bad_alloc();
  return struck;
}

void FaultyStore::State::HoldBack(const StoreOp& op) {
  AddLate([copy = std::make_shared<OpCopy>(op)](Store& store) {
    const std::array<StoreOp*, 1> batch{&copy->op()};
    store.Execute(batch, kLateBudget);
  });
}

void FaultyStore::State::HoldBack(const CommitOp& commit) {
  AddLate([copy = std::make_shared<CommitCopy>(commit)](Store& store) {
    store.Commit(copy->commit(), kLateBudget);
  });
}

void FaultyStore::State::HoldBack(const Filter& filter, const AcquireOp& op) {
  const Key none;
  auto copy = std::make_shared<AcquireOp>(*op.collection, none);
  copy->request.grant = op.request.grant;
  AddLate([copy, filter](Store& store) {
    Key key;
    copy->key = &key;
    store.AcquireNext(filter, *copy, key, kLateBudget);
  });
}

FaultyStore::FaultyStore(std::shared_ptr<Store> inner)
    : state_(std::make_unique<State>(std::move(inner))) {}

FaultyStore::~FaultyStore() = default;

void FaultyStore::Inject(Fault fault) { state_->plan.Inject(std::move(fault)); }

int FaultyStore::Heal() { return state_->plan.Heal(); }

int FaultyStore::ReleaseLate() {
  const std::vector<State::Late> late = state_->TakeLate();
  for (const State::Late& effect : late) effect(*state_->inner);
  return static_cast<int>(late.size());
}

int FaultyStore::Count(OpKind kind) const { return state_->plan.Count(kind); }

int FaultyStore::Calls() const { return state_->plan.Calls(); }

void FaultyStore::Reset() { state_->plan.Reset(); }

void FaultyStore::OnExecute(std::function<void(std::span<StoreOp* const>)> hook) {
  const std::lock_guard guard(state_->mutex);
  state_->hook = std::move(hook);
}

void FaultyStore::DropHints(bool drop) { state_->drop_hints->store(drop); }

StoreTraits FaultyStore::traits() const noexcept { return state_->inner->traits(); }

std::shared_ptr<Collection> FaultyStore::Open(const std::string& name, const LockFieldNames& fields,
                                              Milliseconds default_ttl) {
  return state_->inner->Open(name, fields, default_ttl);
}

std::shared_ptr<Collection> FaultyStore::Find(const std::string& name) const {
  return state_->inner->Find(name);
}

void FaultyStore::Execute(std::span<StoreOp* const> ops, Milliseconds budget) {
  state_->plan.CountCall();
  if (const State::Hook hook = state_->CurrentHook()) hook(ops);
  std::vector<StoreOp*> passing;
  const State::Struck struck = state_->StrikeAll(ops, passing);
  std::vector<std::unique_ptr<OpCopy>> unheard;
  for (const auto& [op, kind] : struck) {
    if (kind == Fault::Kind::kLate) state_->HoldBack(*op);
    if (kind != Fault::Kind::kLostAfter) continue;
    unheard.push_back(std::make_unique<OpCopy>(*op));
    passing.push_back(&unheard.back()->op());
  }
  if (!passing.empty()) state_->inner->Execute(passing, budget);
  for (const auto& [op, kind] : struck) Settle(*op, kind);
}

void FaultyStore::Commit(CommitOp& commit, Milliseconds budget) {
  state_->plan.CountCall();
  if (const State::Hook hook = state_->CurrentHook()) hook(commit.ops);
  std::vector<StoreOp*> passing;
  const State::Struck struck = state_->StrikeAll(commit.ops, passing);
  if (struck.empty()) return state_->inner->Commit(commit, budget);
  const auto [op, kind] = struck.front();
  if (kind == Fault::Kind::kRefused) return Settle(*op, kind);
  if (kind == Fault::Kind::kLate) state_->HoldBack(commit);
  if (kind == Fault::Kind::kLostAfter) {
    CommitCopy unheard(commit);
    state_->inner->Commit(unheard.commit(), budget);
  }
  for (StoreOp* const each : commit.ops) Settle(*each, kind);
}

void FaultyStore::ReadTogether(std::span<StoreOp* const> reads, Milliseconds budget) {
  state_->plan.CountCall();
  std::vector<StoreOp*> passing;
  const State::Struck struck = state_->StrikeAll(reads, passing);
  if (!passing.empty()) state_->inner->ReadTogether(passing, budget);
  for (const auto& [op, kind] : struck) Settle(*op, kind);
}

void FaultyStore::Query(Collection& collection, const Filter& filter,
                        const std::function<bool(QueryRow&&)>& sink, Milliseconds budget) {
  state_->inner->Query(collection, filter, sink, budget);
}

void FaultyStore::AcquireNext(const Filter& filter, AcquireOp& op, Key& key, Milliseconds budget) {
  const std::optional<Fault::Kind> kind = state_->plan.Strike(OpKind::kAcquire, nullptr);
  if (!kind) return state_->inner->AcquireNext(filter, op, key, budget);
  if (*kind == Fault::Kind::kLate) state_->HoldBack(filter, op);
  if (*kind == Fault::Kind::kLostAfter) {
    const Key unknown;
    AcquireOp unheard(*op.collection, unknown);
    unheard.request.grant = op.request.grant;
    state_->inner->AcquireNext(filter, unheard, key, budget);
    if (unheard.key == &key) op.key = &key;
  }
  Settle(op, *kind);
}

std::chrono::system_clock::time_point FaultyStore::WallTime(Milliseconds budget) {
  return state_->inner->WallTime(budget);
}

void FaultyStore::EnsureIndex(Collection& collection, const IndexSpec& index) {
  state_->inner->EnsureIndex(collection, index);
}

std::int64_t FaultyStore::Purge(Collection& collection, std::int64_t limit, Milliseconds budget) {
  return state_->inner->Purge(collection, limit, budget);
}

std::unique_ptr<Subscription> FaultyStore::Watch(Collection& collection, HintListener listener) {
  auto unless_dropped = [drop = state_->drop_hints,
                         listener = std::move(listener)](const LockHint& hint) {
    if (!drop->load()) listener(hint);
  };
  return state_->inner->Watch(collection, std::move(unless_dropped));
}

LockPage FaultyStore::ListLocks(Collection& collection, const LockQuery& query,
                                const std::string& after, Milliseconds budget) {
  return state_->inner->ListLocks(collection, query, after, budget);
}

std::vector<std::string> FaultyStore::ListCollections(std::chrono::milliseconds budget) {
  return state_->inner->ListCollections(budget);
}

std::vector<Finding> FaultyStore::Examine(Collection* collection,
                                          std::chrono::milliseconds budget) {
  return state_->inner->Examine(collection, budget);
}

}  // namespace doclock::testing
