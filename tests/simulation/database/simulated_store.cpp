#include "simulation/database/simulated_store.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "simulation/database/op_result.h"
#include "testing/op_copy.h"

namespace doclock::simulation {
namespace {

using std::chrono::milliseconds;
using testing::OpCopy;

constexpr milliseconds kServerBudget{1000};

const char* NameOf(const StoreOp& op) {
  switch (op.kind) {
    case OpKind::kAcquire:
      return "acquire ";
    case OpKind::kRenew:
      return "renew ";
    case OpKind::kWrite:
      return static_cast<const WriteOp&>(op).request.write == WriteKind::kCheckpoint ? "checkpoint "
             : static_cast<const WriteOp&>(op).request.write == WriteKind::kErase    ? "erase-held "
             : static_cast<const WriteOp&>(op).request.write == WriteKind::kLeave    ? "leave "
                                                                                     : "release ";
    case OpKind::kSave:
      return static_cast<const SaveOp&>(op).request.save == SaveKind::kInsert  ? "insert "
             : static_cast<const SaveOp&>(op).request.save == SaveKind::kErase ? "erase "
                                                                               : "save ";
    case OpKind::kRead:
      break;
  }
  return "read ";
}

/// May it be executed a second time, after a release or an erasure? The others need a server that
/// remembers what it has done.
bool IsGuarded(const StoreOp& op) {
  if (op.kind == OpKind::kAcquire) return !static_cast<const AcquireOp&>(op).request.insert;
  if (op.kind != OpKind::kSave) return true;
  const auto& save = static_cast<const SaveOp&>(op);
  return save.request.save != SaveKind::kInsert && save.request.expected != kAnyVersion;
}

/// Only what got no answer is sent again. A save that was refused may go through later: a lock that
/// lapses leaves the version as it was.
bool IsRefusedSave(const StoreOp& op) {
  return op.kind == OpKind::kSave && op.status != OpStatus::kDone;
}

/// Does a store tell it by a look at the primary, which need not be one any more? An entry that it
/// placed is a write, and the waiter's lease may count from it.
bool IsRefusedAcquire(const StoreOp& op) {
  return op.kind == OpKind::kAcquire && op.status == OpStatus::kBusy &&
         !static_cast<const AcquireOp&>(op).result.queued;
}

void GiveUp(StoreOp& op) {
  if (op.kind == OpKind::kRead) {
    op.Fail(Errc::kUnavailable, "the database gave no answer");
  } else {
    op.Doubt("the database gave no answer");
  }
}

/// One call under way. It may outlive its caller.
struct Exchange {
  explicit Exchange(Process& process) : over(process) {}
  Latch over;
  bool answered = false;
};

}  // namespace

StoreTraits SimulatedStore::traits() const noexcept {
  StoreTraits traits;
  traits.lanes = 3;
  traits.queues = true;
  traits.transactions = true;
  traits.clock_margin = Database::kClockMargin;
  return traits;
}

std::shared_ptr<Collection> SimulatedStore::Open(const std::string& name,
                                                 const LockFieldNames& fields,
                                                 milliseconds default_ttl) {
  auto& collection = collections_[name];
  if (!collection) {
    collection = std::make_shared<Collection>(name, fields, default_ttl);
    static_cast<void>(database_.store().Open(name, fields, default_ttl));
  }
  return collection;
}

std::shared_ptr<Collection> SimulatedStore::Find(const std::string& name) const {
  const auto found = collections_.find(name);
  return found == collections_.end() ? nullptr : found->second;
}

Collection& SimulatedStore::AtDatabase(const Collection& collection) {
  return *database_.store().Find(collection.name());
}

bool SimulatedStore::Ask(std::string subject, bool repeatable, std::function<bool(Primary&)> serve,
                         milliseconds budget) {
  if (killed_) return false;
  const auto exchange = std::make_shared<Exchange>(process_);
  const auto timer =
      process_.StartTimer(process_.Now() + budget, [exchange] { exchange->over.Open(); });
  network_.Send(process_, {std::move(subject), repeatable, std::move(serve),
                           [exchange] {
                             if (exchange->over.open()) return;
                             exchange->answered = true;
                             exchange->over.Open();
                           },
                           [exchange] { exchange->over.Open(); }});
  exchange->over.Wait();
  process_.StopTimer(timer);
  return exchange->answered && !killed_;
}

void SimulatedStore::AskOrThrow(std::string subject, std::function<bool(Primary&)> serve,
                                milliseconds budget) {
  if (Ask(std::move(subject), false, std::move(serve), budget)) return;
  throw StoreException(Errc::kUnavailable, "the database gave no answer");
}

struct SimulatedStore::Batch {
  std::deque<OpCopy> copies;
  std::vector<StoreOp*> ops;

  /// Tells what came of them, or that there was no answer.
  void Tell(bool answered, std::span<StoreOp* const> originals) const {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      answered ? CopyResult(*ops[i], *originals[i]) : GiveUp(*originals[i]);
    }
  }
};

std::shared_ptr<SimulatedStore::Batch> SimulatedStore::CopyOf(std::span<StoreOp* const> ops) {
  auto batch = std::make_shared<Batch>();
  for (const StoreOp* const op : ops) {
    StoreOp& copy = batch->copies.emplace_back(*op).op();
    copy.collection = &AtDatabase(*op->collection);
    batch->ops.push_back(&copy);
  }
  return batch;
}

void SimulatedStore::Execute(std::span<StoreOp* const> ops, milliseconds budget) {
  const auto batch = CopyOf(ops);
  const bool guarded =
      std::all_of(ops.begin(), ops.end(), [](const StoreOp* op) { return IsGuarded(*op); });
  std::string subject = NameOf(*ops.front()) + ops.front()->key->ToString();
  if (ops.size() > 1) subject += " and " + std::to_string(ops.size() - 1) + " more";
  const bool answered = Ask(
      std::move(subject), guarded,
      [batch, served = false](Primary& primary) mutable {
        if (!std::exchange(served, true)) {
          for (StoreOp* const op : batch->ops) primary.Execute(*op);
          return std::all_of(batch->ops.begin(), batch->ops.end(),
                             [](const StoreOp* op) { return IsRefusedAcquire(*op); });
        }
        for (const StoreOp* const op : batch->ops) {
          if (IsRefusedSave(*op)) continue;
          OpCopy again(*op);
          primary.Execute(again.op());
        }
        return false;
      },
      budget);
  batch->Tell(answered, ops);
}

void SimulatedStore::Commit(CommitOp& commit, milliseconds budget) {
  const auto batch = CopyOf(commit.ops);
  const bool answered = Ask(
      "commit " + commit.ops.front()->key->ToString(), false,
      [batch](Primary& primary) {
        primary.ExecuteTogether(batch->ops);
        return false;
      },
      budget);
  batch->Tell(answered, commit.ops);
}

void SimulatedStore::ReadTogether(std::span<StoreOp* const> reads, milliseconds budget) {
  const auto batch = CopyOf(reads);
  const bool answered = Ask(
      "read " + reads.front()->key->ToString() + " and others", false,
      [batch](Primary& primary) {
        primary.sure().ReadTogether(batch->ops, kServerBudget);
        return true;
      },
      budget);
  batch->Tell(answered, reads);
}

void SimulatedStore::Query(Collection& collection, const Filter& filter,
                           const std::function<bool(QueryRow&&)>& sink, milliseconds budget) {
  const auto rows = std::make_shared<std::vector<QueryRow>>();
  AskOrThrow(
      "query",
      [rows, filter, &there = AtDatabase(collection)](Primary& primary) {
        rows->clear();
        primary.sure().Query(
            there, filter,
            [&](QueryRow&& row) {
              rows->push_back(std::move(row));
              return true;
            },
            kServerBudget);
        return true;
      },
      budget);
  for (QueryRow& row : *rows) {
    if (!sink(std::move(row))) return;
  }
}

struct SimulatedStore::Search {
  explicit Search(const AcquireOp& original) : copy(original) {}
  OpCopy copy;
  Key key;
};

void SimulatedStore::AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                                 milliseconds budget) {
  const auto search = std::make_shared<Search>(op);
  search->copy.op().collection = &AtDatabase(*op.collection);
  const bool answered = Ask(
      "next", false,
      [search, filter](Primary& primary) {
        auto& acquire = static_cast<AcquireOp&>(search->copy.op());
        primary.Note(acquire);
        primary.store().AcquireNext(filter, acquire, search->key, kServerBudget);
        return false;
      },
      budget);
  // Without an answer it cannot know which document the database chose.
  if (!answered) return GiveUp(op);
  CopyResult(search->copy.op(), op);
  if (search->key == Key()) return;
  key = search->key;
  op.key = &key;
  op.hash = key.Hash();
}

std::int64_t SimulatedStore::Purge(Collection& collection, std::int64_t limit,
                                   milliseconds budget) {
  const auto cleared = std::make_shared<std::int64_t>();
  AskOrThrow(
      "purge",
      [cleared, limit, &there = AtDatabase(collection)](Primary& primary) {
        *cleared = primary.Purge(there, limit);
        return false;
      },
      budget);
  return *cleared;
}

LockPage SimulatedStore::ListLocks(Collection& collection, const LockQuery& query,
                                   const std::string&, milliseconds budget) {
  const auto page = std::make_shared<LockPage>();
  AskOrThrow(
      "locks",
      [page, query, &there = AtDatabase(collection)](Primary& primary) {
        *page = primary.ListLocks(there, query);
        return true;
      },
      budget);
  return std::move(*page);
}

std::unique_ptr<Subscription> SimulatedStore::Watch(Collection& collection, HintListener listener) {
  return network_.Subscribe(process_, AtDatabase(collection), std::move(listener));
}

}  // namespace doclock::simulation
