#include "locking/locking_store.h"

#include <algorithm>
#include <utility>

#include "doclock/errors.h"
#include "locking/program.h"

namespace doclock::locking {

using std::chrono::milliseconds;

namespace {

constexpr const char* kForkedText = "the store belongs to the parent process";

}  // namespace

LockingStore::LockingStore(std::unique_ptr<Database> database, bool creates)
    : database_(std::move(database)), creates_(creates) {}

LockingStore::~LockingStore() = default;

bool LockingStore::Refuses(std::span<StoreOp* const> ops) const {
  if (!database_->IsForked()) return false;
  for (StoreOp* const op : ops) op->Fail(Errc::kForked, kForkedText);
  return true;
}

template <class F>
auto LockingStore::Call(const F& call) const {
  if (database_->IsForked()) {
    throw LockException(Errc::kForked, std::string("doclock: ") + kForkedText);
  }
  try {
    return call();
  } catch (const Error&) {
    database_->ThrowForCaller();
    throw;
  }
}

std::shared_ptr<Collection> LockingStore::Open(const std::string& name,
                                               const LockFieldNames& fields,
                                               milliseconds default_ttl) {
  const auto open = [&] {
    if (!creates_) RequireThere(name);
    return database_->Open(name, fields, default_ttl);
  };
  return Call([&] { return collections_.Open(name, fields, default_ttl, open); });
}

void LockingStore::RequireThere(const std::string& collection) const {
  constexpr std::chrono::seconds kForList{10};
  const auto names = database_->ListCollections(In(kForList));
  if (!names || std::ranges::find(*names, collection) != names->end()) return;
  throw NotFoundException("doclock: the store has no collection " + collection);
}

std::shared_ptr<Collection> LockingStore::Find(const std::string& name) const {
  return database_->IsForked() ? nullptr : collections_.Find(name);
}

void LockingStore::Execute(std::span<StoreOp* const> ops, milliseconds budget) {
  if (!Refuses(ops)) locking::Execute(*database_, ops, In(budget));
}

void LockingStore::Commit(CommitOp& commit, milliseconds budget) {
  if (!Refuses(commit.ops)) locking::CommitAll(*database_, commit, In(budget));
}

void LockingStore::ReadTogether(std::span<StoreOp* const> reads, milliseconds budget) {
  if (!Refuses(reads)) locking::ReadTogether(*database_, reads, In(budget));
}

void LockingStore::Query(Collection& collection, const Filter& filter,
                         const std::function<bool(QueryRow&&)>& sink, milliseconds budget) {
  Call([&] { locking::Query(*database_, collection, filter, sink, In(budget)); });
}

void LockingStore::AcquireNext(const Filter& filter, AcquireOp& op, Key& key, milliseconds budget) {
  StoreOp* const one[] = {&op};
  if (!Refuses(one)) locking::AcquireNext(*database_, filter, op, key, In(budget));
}

std::chrono::system_clock::time_point LockingStore::WallTime(milliseconds budget) {
  const auto now = Call([&] {
    return RunUnit(*database_, Access::kRead, In(budget),
                   [](Unit& unit) { return unit.WallTime(); });
  });
  return now ? *now : Store::WallTime(budget);
}

std::int64_t LockingStore::Purge(Collection& collection, std::int64_t limit, milliseconds budget) {
  return Call([&] { return locking::Purge(*database_, collection, limit, In(budget)); });
}

LockPage LockingStore::ListLocks(Collection& collection, const LockQuery& query,
                                 const std::string& after, milliseconds budget) {
  return Call([&] { return locking::ListLocks(*database_, collection, query, after, In(budget)); });
}

std::vector<std::string> LockingStore::ListCollections(milliseconds budget) {
  auto names = Call([&] { return database_->ListCollections(In(budget)); });
  return names ? *std::move(names) : Store::ListCollections(budget);
}

std::vector<Finding> LockingStore::Examine(Collection* collection, milliseconds budget) {
  return Call([&] { return database_->Examine(collection, In(budget)); });
}

void LockingStore::EnsureIndex(Collection& collection, const IndexSpec& index) {
  Call([&] { database_->EnsureIndex(collection, index); });
}

std::unique_ptr<Subscription> LockingStore::Watch(Collection& collection, HintListener listener) {
  // The write is done, the thread is any of the database's, and waiters poll.
  const auto guarded = [listener = std::move(listener)](const LockHint& hint) {
    try {
      listener(hint);
    } catch (...) {
    }
  };
  return Call([&] { return database_->Watch(collection, guarded); });
}

Deadline LockingStore::In(milliseconds budget) {
  constexpr milliseconds kLongest = std::chrono::hours(24);
  return std::chrono::steady_clock::now() + std::min(budget, kLongest);
}

std::shared_ptr<Store> StoreOn(std::unique_ptr<Database> database, bool creates) {
  return std::make_shared<LockingStore>(std::move(database), creates);
}

}  // namespace doclock::locking
