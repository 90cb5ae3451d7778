#include "records/record_unit.h"

#include <optional>
#include <utility>

#include "document/json/row_filter.h"
#include "document/watchers.h"
#include "records/lock_json.h"
#include "records/record_collection.h"
#include "records/unique_indexes.h"

namespace doclock::records {
namespace {

using locking::Candidate;
using locking::Change;
using locking::Entry;

/// Puts one change into the transaction. False: an index refuses it, which is its outcome.
bool Put(RecordStore::Transaction& transaction, UniqueCheck& check, const std::string& run,
         Change& change) {
  const std::string& name = change.collection->name();
  if (change.erased) {
    transaction.Erase(name, *change.key);
    check.Accept(name, *change.key, Body());
    return true;
  }
  const Body& body = change.now->body;
  const bool known = change.was != nullptr && change.was->body.IsSameAs(body);
  if (auto index = known ? std::nullopt : check.Refusing(name, *change.key, body)) {
    change.RefuseBy(*std::move(index));
    return false;
  }
  transaction.Put(name, *change.key, {records::ToJson(change.now->lock, run), body});
  check.Accept(name, *change.key, body);
  return true;
}

}  // namespace

void RecordUnit::Load(std::span<Change> documents) {
  for (Change& document : documents) {
    std::optional<Record> record = transaction_->Load(document.collection->name(), *document.key);
    if (!record) continue;
    std::optional<ReadLock> lock = FromJson(record->lock, run_, now_);
    document.malformed = !lock;
    if (!lock) continue;
    document.restated = lock->begun_anew;
    entries_.push_back(
        std::make_unique<const Entry>(Entry{std::move(lock->state), std::move(record->body)}));
    document.was = entries_.back().get();
  }
}

void RecordUnit::Commit(std::span<Change> changes) {
  UniqueCheck check(*transaction_);
  std::vector<Change*> put;
  for (Change& change : changes) {
    if (!change.IsDecided()) continue;
    if (Put(*transaction_, check, run_, change)) {
      put.push_back(&change);
    } else if (all_) {
      return;
    }
  }
  if (put.empty()) return;
  transaction_->Commit();
  for (Change* const change : put) {
    change->outcome = OpStatus::kDone;
    if (change->notice == locking::Notice::kNobody) continue;
    static_cast<RecordCollection&>(*change->collection).watchers().Tell(change->Hint());
  }
}

void RecordUnit::Scan(Collection& collection, const Filter& filter,
                      const std::function<bool(QueryRow&&)>& visit) {
  const auto show = [&](FirstRows& rows, const Key& key, Record&& record) {
    std::optional<ReadLock> stored = FromJson(record.lock, run_, now_);
    const rules::LockState lock = stored ? std::move(stored->state) : rules::LockState();
    // A malformed lock may be held; it is not free.
    const bool locked = !stored || lock.IsLive(now_);
    rows.Show({key, std::move(record.body), lock.version, lock.born, locked});
  };
  const auto scan = [&](FirstRows& rows) {
    if (const auto key = EqualKey(filter)) {
      if (auto record = transaction_->Load(collection.name(), *key)) {
        show(rows, *key, *std::move(record));
      }
      return;
    }
    transaction_->Scan(collection.name(), [&](const Key& key, Record&& record) {
      show(rows, key, std::move(record));
      return true;
    });
  };
  VisitInOrder(filter, kPageRows, scan, visit);
}

std::string RecordUnit::ScanLocks(Collection& collection, const LockQuery& query,
                                  const std::string&,
                                  const std::function<bool(Candidate&&)>& visit) {
  transaction_->Scan(collection.name(), [&](const Key& key, Record&& record) {
    if (query.key && *query.key != key) return true;
    std::optional<ReadLock> lock = FromJson(record.lock, run_, now_);
    Candidate candidate{key, {}, !TreeOf(record.body).empty(), !lock};
    if (lock) {
      candidate.restated = lock->begun_anew;
      candidate.lock = std::move(lock->state);
    }
    return visit(std::move(candidate));
  });
  return {};
}

}  // namespace doclock::records
