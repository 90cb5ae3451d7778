#include "doclock/transaction.h"

#include <stdexcept>
#include <string>

#include "engine/calls/failure.h"
#include "engine/engine.h"

namespace doclock {
namespace detail {
namespace {

[[noreturn]] void Reject(const Collection& collection, const Key& key, const char* why) {
  throw std::invalid_argument("doclock: " + Describe(collection, key) + " " + why);
}

std::size_t BytesOf(const CommitPartSpec& part) {
  const auto body = [](const auto& spec) -> const Body& {
    if constexpr (requires { spec.fields; }) {
      return spec.fields;
    } else {
      return spec.body;
    }
  };
  return std::visit([&](const auto& spec) { return body(spec).size_hint(); }, part);
}

}  // namespace

TransactionState::TransactionState(EnginePtr engine) : engine_(std::move(engine)) {
  if (engine_->traits().transactions) return;
  throw StoreException(
      Errc::kRefused,
      "doclock: this store has no transactions (MongoDB has them in a replica set only)");
}

void TransactionState::CheckOpen() const {
  switch (phase_) {
    case Phase::kOpen:
    case Phase::kLent:
    case Phase::kLentToStep:
      return;
    case Phase::kCommitting:
      throw std::logic_error("doclock: a commit of the transaction is under way");
    case Phase::kCommitted:
      throw std::logic_error("doclock: the transaction was committed already");
    case Phase::kInDoubt:
      throw std::logic_error("doclock: whether the transaction was committed is unknown");
  }
}

void TransactionState::Add(const Binding& binding, const Key& key, Make make, Done done) {
  CheckOpen();
  const Collection& collection = *binding.collection;
  if (binding.engine != engine_) {
    Reject(collection, key, "is of another LockManager than the transaction");
  }
  if (parts_.size() == kMaxTransactionDocuments) {
    Reject(collection, key, "is one too many for a transaction, which writes up to 1,000");
  }
  if (parts_.size() == parts_.capacity()) parts_.reserve(2 * parts_.size() + 1);
  const auto [document, is_new] = documents_.emplace(&collection, key);
  if (!is_new) Reject(collection, key, "is in the transaction already");
  parts_.push_back({std::move(make), std::move(done), document});
}

void TransactionState::KeepFirst(std::size_t count) noexcept {
  for (; parts_.size() > count; parts_.pop_back()) documents_.erase(parts_.back().document);
}

void TransactionState::Join(NativeHandle native, std::function<void(void*)> join) {
  CheckOpen();
  if (native == NativeHandle::kNone || engine_->traits().native != native) {
    throw std::invalid_argument(
        "doclock: the transaction's store gives joined work no such handle: sqlite3* is SQLite's, "
        "PGconn* PostgreSQL's, MongodbJoin that of a MongoDB replica set");
  }
  if (join_) throw std::logic_error("doclock: the transaction has joined work already");
  join_ = std::move(join);
}

CommitSpec TransactionState::Lend(const std::shared_ptr<TransactionState>& state,
                                  const std::function<void(Transaction&)>& use) {
  state->phase_ = Phase::kLent;
  Transaction transaction(state);
  use(transaction);
  return state->Collect();
}

void TransactionState::LendToStep(const std::shared_ptr<TransactionState>& state,
                                  const std::function<void(Transaction&)>& use) {
  state->phase_ = Phase::kLentToStep;
  Transaction transaction(state);
  use(transaction);
  state->phase_ = Phase::kOpen;
}

void TransactionState::CheckOwn() const {
  CheckNotLent();
  if (phase_ != Phase::kLentToStep) return;
  throw std::logic_error(
      "doclock: a Worker commits the transaction of its step, which takes a snapshot over: "
      "Save(repository, std::move(snapshot))");
}

void TransactionState::CheckNotLent() const {
  if (phase_ != Phase::kLent) return;
  throw std::logic_error(
      "doclock: Update commits the transaction of its f, which adds Insert, Expect, messages and "
      "Join, Erase of a snapshot and ReleaseLock; what else is to change is named to Update");
}

CommitSpec TransactionState::MakeSpec() const {
  CheckOpen();
  CheckOwn();
  try {
    return Collect();
  } catch (...) {
    TellRefused();
    throw;
  }
}

void TransactionState::TellRefused() const noexcept {
  for (const Part& part : parts_) part.done(std::nullopt);
}

CommitSpec TransactionState::Collect() const {
  if (join_ && parts_.empty()) {
    throw std::logic_error("doclock: a transaction with joined work needs a document");
  }
  CommitSpec spec;
  spec.join = join_;
  spec.parts.reserve(parts_.size());
  std::size_t bytes = 0;
  for (const Part& part : parts_) {
    spec.parts.push_back(part.make());
    bytes += BytesOf(spec.parts.back());
  }
  if (bytes > kMaxTransactionBytes) {
    throw StoreException(Errc::kRefused,
                         "doclock: a transaction writes up to 32 MiB of bodies, not " +
                             std::to_string(bytes >> 20) + " MiB");
  }
  return spec;
}

void TransactionState::Begin() {
  CheckOpen();
  phase_ = Phase::kCommitting;
}

void TransactionState::Commit() {
  CommitSpec spec = MakeSpec();
  CommitResult result;
  Begin();
  try {
    result = detail::Commit(engine_, std::move(spec));
  } catch (...) {
    phase_ = Phase::kOpen;
    TellRefused();
    throw;
  }
  Settle(result);
}

void TransactionState::CommitAsync(CommitSpec spec, CommitDone done) {
  // A token may begin later than the call that gave it the writes.
  if (spec.parts.size() != parts_.size()) {
    TellRefused();
    throw std::logic_error("doclock: the transaction was used after CommitAsync()");
  }
  Begin();
  try {
    detail::CommitAsync(engine_, std::move(spec), std::move(done));
  } catch (...) {
    phase_ = Phase::kOpen;
    TellRefused();
    throw;
  }
}

void TransactionState::Settle(const CommitResult& result) {
  const bool in_doubt = result.failure && result.failure->code == Errc::kInDoubt;
  if (phase_ != Phase::kLent) phase_ = in_doubt ? Phase::kInDoubt : Phase::kOpen;
  if (result.failure || result.thrown) TellRefused();
  if (result.thrown) std::rethrow_exception(result.thrown);
  if (result.failure && parts_[result.refused].refused) {
    parts_[result.refused].refused(*result.failure);
  }
  ThrowIf(result.failure);
  phase_ = Phase::kCommitted;
  for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].done(result.versions[i]);
  parts_.clear();
  join_ = nullptr;
}

}  // namespace detail

Transaction::Transaction(LockManager manager)
    : manager_(std::move(manager)),
      state_(std::make_shared<detail::TransactionState>(manager_->engine())) {}
Transaction::Transaction(detail::TransactionStatePtr state) : state_(std::move(state)) {}

Transaction::Transaction(Transaction&&) noexcept = default;
Transaction& Transaction::operator=(Transaction&& other) noexcept {
  // Handles that were taken over release their locks while their manager is there.
  state_ = std::move(other.state_);
  manager_ = std::move(other.manager_);
  return *this;
}
Transaction::~Transaction() = default;

const detail::TransactionStatePtr& Transaction::state() const {
  if (!state_) detail::ThrowMovedFrom("Transaction");
  return state_;
}

Transaction& Transaction::Add(const detail::Binding& binding, const Key& key,
                              detail::TransactionState::Make make,
                              detail::TransactionState::Done done) {
  state()->Add(binding, key, std::move(make), std::move(done));
  return *this;
}

Transaction& Transaction::Enlist(HeldLock& lock, WriteKind kind) {
  state()->CheckNotLent();
  const detail::HeldStatePtr held = lock.Active();
  if (held->lease->mode == LockMode::kShared) {
    detail::Reject(*held->binding->collection, held->lease->key,
                   "is shared: a transaction takes exclusive locks");
  }
  const auto make = [held, kind]() -> detail::CommitPartSpec {
    if (held->ended.load(std::memory_order_acquire)) detail::ThrowEmptyHandle();
    return detail::HolderSpec{held->lease, kind, Body()};
  };
  const auto done = [held, kind](std::optional<std::int64_t> version) {
    if (version && kind == WriteKind::kRelease) detail::HeldEnded{held}();
  };
  return Add(*held->binding, held->lease->key, make, done);
}

Transaction& Transaction::Keep(HeldLock& lock) { return Enlist(lock, WriteKind::kCheckpoint); }
Transaction& Transaction::Release(HeldLock& lock) { return Enlist(lock, WriteKind::kRelease); }

Transaction& Transaction::JoinNative(NativeHandle native, std::function<void(void*)> join) {
  state()->Join(native, std::move(join));
  return *this;
}

void Transaction::Commit() { state()->Commit(); }

}  // namespace doclock
