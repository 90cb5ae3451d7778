#include "records/record_unit.h"

#include <algorithm>
#include <utility>

#include "document/json/row_filter.h"
#include "document/watchers.h"
#include "records/hint_text.h"
#include "records/lock_json.h"

namespace doclock::records {
namespace {

using locking::Candidate;
using locking::Document;
using locking::Entry;

RecordCollection& Ours(Collection& collection) noexcept {
  return static_cast<RecordCollection&>(collection);
}

}  // namespace

const RecordTime& RecordUnit::Time() {
  if (!time_) time_ = transaction_->Now();
  return *time_;
}

void RecordUnit::Load(std::span<Document> documents) {
  entries_.clear();
  auto first = documents.begin();
  for (auto document = first; document != documents.end(); ++document) {
    auto& collection = Ours(*document->asked.collection);
    if (!MustLock(collection)) continue;
    LoadOf({first, document});  // what comes first in the order of all clients
    first = document;
    transaction_->LockCollection(collection.name());
  }
  LoadOf({first, documents.end()});
}

bool RecordUnit::MustLock(RecordCollection& collection) {
  using locking::Access;
  const bool writes_bodies = access_ != Access::kRead && access_ != Access::kRenew;
  const auto [locks, first] =
      locks_.try_emplace(&collection, writes_bodies && collection.is_unique());
  return first && locks->second;
}

void RecordUnit::LoadOf(std::span<Document> documents) {
  if (documents.empty()) return;
  std::vector<RecordKey> keys;
  keys.reserve(documents.size());
  for (const Document& document : documents) {
    keys.push_back({document.asked.collection->name(), *document.asked.key});
  }
  std::vector<std::optional<Record>> records = LoadKeys(keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (records.at(i)) Show(documents[i], *std::move(records[i]));
  }
}

std::vector<std::optional<Record>> RecordUnit::LoadKeys(std::span<const RecordKey> keys) {
  auto records = transaction_->Load(keys);
  time_.reset();  // it may have waited
  return records;
}

void RecordUnit::Show(Document& document, Record&& record) {
  std::optional<rules::LockState> lock = FromJson(record.lock, run_);
  document.loaded.malformed = !lock;
  if (!lock) return;
  entries_.push_back(
      std::make_unique<const Entry>(Entry{*std::move(lock), std::move(record.body)}));
  document.loaded.entry = entries_.back().get();
}

std::optional<std::string> RecordUnit::Refusing(UniqueCheck& check, const Document& document) {
  const Body& body = document.decision.entry->body;
  const Entry* const was = document.loaded.entry;
  if (was != nullptr && was->body.IsSameAs(body)) return std::nullopt;
  auto& collection = Ours(*document.asked.collection);
  if (!check.Has(collection.name())) return std::nullopt;
  if (!locks_.at(&collection)) {
    collection.SetUnique();  // another process has made the index
    throw RacedException();
  }
  return check.Refusing(collection.name(), *document.asked.key, body);
}

void RecordUnit::Commit(std::span<Document> documents) {
  UniqueCheck check(*transaction_);
  std::vector<Document*> put;
  for (Document& document : documents) {
    if (!document.IsDecided()) continue;
    const std::string& name = document.asked.collection->name();
    const Key& key = *document.asked.key;
    const locking::Decision& decision = document.decision;
    if (decision.erased) {
      transaction_->Erase(name, key);
    } else if (auto index = Refusing(check, document)) {
      document.outcome.RefuseBy(*std::move(index));
      if (access_ == locking::Access::kWriteAll) return;
      continue;
    } else {
      transaction_->Put(name, key, {ToJson(decision.entry->lock, run_), decision.entry->body});
    }
    check.Accept(name, key, decision.erased ? Body() : decision.entry->body);
    put.push_back(&document);
  }
  // An expected document must be as it was loaded.
  if (put.empty() && access_ != locking::Access::kWriteAll) return;
  transaction_->Commit();
  transaction_.reset();  // a notified waiter need not wait for it
  for (Document* const document : put) document->outcome.status = OpStatus::kDone;
  try {
    Tell(put);
  } catch (...) {  // it is stored, and waiters poll
  }
}

void RecordUnit::Tell(std::span<Document* const> put) {
  const bool others = records_.traits().tells;
  std::map<std::string, std::vector<std::string>> hints;
  for (const Document* const document : put) {
    if (document->decision.notice == locking::Notice::kNobody) continue;
    const LockHint hint = document->Hint();
    Ours(*document->asked.collection).watchers().Tell(hint);
    if (others) hints[document->asked.collection->name()].push_back(HintToText(hint));
  }
  for (const auto& [collection, told] : hints) records_.Tell(collection, told);
}

void RecordUnit::Scan(Collection& collection, const Filter& filter,
                      const std::function<bool(QueryRow&&)>& visit) {
  TimePoint now{};
  const auto show = [&](FirstRows& rows, const Key& key, Record&& record) {
    const std::optional<rules::LockState> stored = FromJson(record.lock, run_);
    const rules::LockState lock = stored.value_or(rules::LockState());
    // A malformed lock may be held; it is not free.
    const bool locked = !stored || lock.IsLive(now);
    rows.Show({key, std::move(record.body), lock.version, lock.born, locked});
  };
  const auto scan = [&](FirstRows& rows) {
    if (const auto key = EqualKey(filter)) {
      if (MustLock(Ours(collection))) transaction_->LockCollection(collection.name());
      const RecordKey keys[] = {{collection.name(), *key}};
      auto records = LoadKeys(keys);
      now = Now();
      if (records.at(0)) show(rows, *key, *std::move(records[0]));
      return;
    }
    now = Now();
    transaction_->Scan(collection.name(), filter, [&](const Key& key, Record&& record) {
      show(rows, key, std::move(record));
      return true;
    });
  };
  VisitInOrder(filter, kPageRows, scan, visit);
}

std::string RecordUnit::ScanLocks(Collection& collection, const LockQuery& query,
                                  const std::string&,
                                  const std::function<bool(Candidate&&)>& visit) {
  static_cast<void>(Now());  // the transaction is not asked while it scans
  const Filter all;
  transaction_->Scan(collection.name(), query.key ? detail::OfKey(all, *query.key) : all,
                     [&](const Key& key, Record&& record) {
                       if (query.key && *query.key != key) return true;
                       std::optional<rules::LockState> lock = FromJson(record.lock, run_);
                       Candidate candidate{key, {}, !TreeOf(record.body).empty(), !lock};
                       if (lock) candidate.lock = *std::move(lock);
                       return visit(std::move(candidate));
                     });
  return {};
}

}  // namespace doclock::records
