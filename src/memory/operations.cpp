#include "memory/operations.h"

#include <memory>
#include <string>
#include <utility>

#include "document/json/merged.h"
#include "document/json/row_filter.h"
#include "document/values/good_text.h"
#include "memory/locked_slot.h"
#include "rules/acquire.h"
#include "rules/holder.h"
#include "rules/looking.h"
#include "rules/save.h"
#include "rules/tidying.h"

namespace doclock::memory {
namespace {

void RefusedBy(StoreOp& op, std::string index) {
  op.detail = std::make_unique<OpDetail>();
  op.status = OpStatus::kConflict;
  op.detail->index = std::move(index);
}

/// Adds a document with the decided lock. False: a unique index refuses it.
bool Add(StoreOp& op, LockedSlot& slot, rules::LockState lock, const Body& body) {
  if (!HasGoodText(op, body)) return false;
  auto document = std::make_unique<Document>(*op.key, op.hash);
  document->lock = std::move(lock);
  auto refusal = slot.Insert(std::move(document), body);
  if (refusal) RefusedBy(op, std::move(*refusal));
  return !refusal;
}

void Create(AcquireOp& op, LockedSlot& slot, TimePoint now) {
  rules::LockState lock;
  rules::AcquireNew(op, lock, now);
  if (Add(op, slot, std::move(lock), op.insert)) op.body = op.insert;
}

/// Are they one and the same body, not only equal? False of text that is no JSON object.
bool IsSame(const Body& a, const Body& b) {
  const nlohmann::json& tree = TreeOf(a);
  return &tree == &TreeOf(b) && &tree != &TreeOf(Body());
}

/// False: a unique index refuses the body, and nothing has changed.
bool PutBody(StoreOp& op, LockedSlot& slot, const Body& body, Remains& remains) {
  // What a grant gave out and a release gives back was checked and indexed when it came.
  if (IsSame(body, slot.document()->body)) return true;
  if (!HasGoodText(op, body)) return false;
  auto refusal = slot.PutBody(body, remains.body);
  if (refusal) RefusedBy(op, std::move(*refusal));
  return !refusal;
}

bool PutBody(WriteOp& op, LockedSlot& slot, Remains& remains) {
  if (!op.body) return true;
  if (!op.merge) return PutBody(op, slot, op.body, remains);
  try {
    return PutBody(op, slot, Merged(slot.document()->body, op.body), remains);
  } catch (const DocumentException& error) {
    op.Fail(Errc::kDocument, error.what());
    return false;
  }
}

/// A plain release that nobody waits for does not read the time.
TimePoint TimeOf(const WriteOp& op, const rules::LockState& lock, Moment& moment) noexcept {
  const bool needed = op.mode == LockMode::kShared || op.write == WriteKind::kCheckpoint ||
                      op.write == WriteKind::kLeave || op.next != nullptr || !lock.queue.empty();
  return needed ? moment.Now() : TimePoint{};
}

/// True: a lock was freed, or granted to a waiter. Waiters of all processes are here: the one that
/// was granted the lock learns of it by a hint, as of a lock that is free.
bool ExecuteLocked(WriteOp& op, Moment& moment, Remains& remains) {
  LockedSlot slot(op);
  if (slot.document() == nullptr) {
    op.status = OpStatus::kMissing;
    return false;
  }
  rules::LockState& lock = slot.document()->lock;
  const TimePoint now = TimeOf(op, lock, moment);
  if (!rules::MayWrite(op, lock, now)) return false;
  // So that the rules allocate nothing once the body is in place.
  if (op.next != nullptr) lock.group.reserve(op.next->group.size());
  if (!PutBody(op, slot, remains)) return false;
  rules::Write(op, lock, now);
  const bool told = rules::ConcernsWaiters(op, lock);
  if (op.write == WriteKind::kErase) remains.document = slot.Take();
  return told;
}

/// True: a lock was freed, or granted to a waiter.
bool ExecuteLocked(SaveOp& op, TimePoint now, Remains& remains) {
  LockedSlot slot(op);
  Document* const document = slot.document();
  if (!rules::MaySave(op, document == nullptr ? nullptr : &document->lock, now)) return false;
  if (document == nullptr) {
    rules::LockState lock;
    lock.born = NewUuid();
    rules::Save(op, lock, now);
    Add(op, slot, std::move(lock), op.body);
    return false;
  }
  const bool erases = op.save == SaveKind::kErase;
  if (!erases && op.body && !PutBody(op, slot, op.body, remains)) return false;
  const bool told = rules::Save(op, document->lock, now);
  if (erases) remains.document = slot.Take();
  return told;
}

/// True: the lock was granted to another waiter.
bool ExecuteLocked(AcquireOp& op, TimePoint now) {
  LockedSlot slot(op);
  Document* const document = slot.document();
  if (document != nullptr) {
    rules::Acquire(op, document->lock, now);
    if (op.status == OpStatus::kDone) op.body = document->body;
    return document->lock.passed_on.done;
  }
  if (op.insert) {
    Create(op, slot, now);
  } else {
    op.status = OpStatus::kMissing;
  }
  return false;
}

}  // namespace

void Execute(AcquireOp& op, Moment& moment) {
  if (ExecuteLocked(op, moment.Now())) CollectionOf(op).watchers().Tell(op.hash);
}

void Execute(RenewOp& op, Moment& moment) {
  const TimePoint now = moment.Now();
  const LockedSlot slot(op);
  if (slot.document() == nullptr) {
    op.status = OpStatus::kMissing;
  } else {
    rules::Renew(op, slot.document()->lock, now);
  }
}

void Execute(WriteOp& op, Moment& moment) {
  Remains remains;
  if (ExecuteLocked(op, moment, remains)) CollectionOf(op).watchers().Tell(op.hash);
}

void Execute(SaveOp& op, Moment& moment) {
  Remains remains;
  if (ExecuteLocked(op, moment.Now(), remains)) CollectionOf(op).watchers().Tell(op.hash);
}

void Execute(ReadOp& op, Moment& moment) {
  const TimePoint now = moment.Now();
  const LockedSlot slot(op);
  if (slot.document() == nullptr) {
    op.status = OpStatus::kMissing;
    return;
  }
  op.body = slot.document()->body;
  rules::Read(op, slot.document()->lock, now);
}

std::int64_t Purge(MemoryCollection& collection, std::int64_t limit, TimePoint now) {
  std::int64_t purged = 0;
  for (Shard& shard : collection.shards()) {
    const std::lock_guard guard(shard.mutex);
    for (const auto& [key, document] : shard.documents) {
      if (purged >= limit) return purged;
      if (!rules::IsPurgeable(document->lock, now)) continue;
      rules::Purge(document->lock);
      ++purged;
    }
  }
  return purged;
}

LockPage ListLocks(MemoryCollection& collection, const LockQuery& query, const std::string& after,
                   TimePoint now) {
  LockPage page;
  const auto show = [&](const Document& document) {
    LockRow row;
    row.key = document.key;
    row.has_body = !TreeOf(document.body).empty();
    rules::AddRows(page.rows, row, document.lock, query, now);
  };
  if (query.key) {
    const LockedSlot slot(collection, *query.key, query.key->Hash());
    if (slot.document() != nullptr) show(*slot.document());
    return page;
  }
  const std::size_t number = after.empty() ? 0 : std::stoul(after);
  Shard& shard = collection.shards().at(number);
  {
    const std::lock_guard guard(shard.mutex);
    for (const auto& [key, document] : shard.documents) show(*document);
  }
  if (number + 1 < MemoryCollection::kShards) page.next = std::to_string(number + 1);
  return page;
}

}  // namespace doclock::memory
