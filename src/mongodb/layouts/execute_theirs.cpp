#include "mongodb/layouts/execute_theirs.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "locking/program.h"
#include "mongodb/layouts/layout.h"
#include "mongodb/layouts/layout_parts.h"
#include "rules/rules.h"

namespace doclock::mongodb {

using locking::Deadline;
using std::chrono::milliseconds;

namespace {

/// Is there more than an empty document? One that is no JSON is more.
bool IsBody(const Body& body) {
  try {
    return body && !body.json().empty();
  } catch (const DocumentException&) {
    return true;
  }
}

/// The body that counts as none if it is empty: a document that has a body is not made, and one
/// that has none is not written.
Body* BodyIn(StoreOp& op) {
  const OpKind kind = op.collection->has_bodies() ? OpKind::kAcquire : OpKind::kWrite;
  if (op.kind != kind) return nullptr;
  return kind == OpKind::kAcquire ? &static_cast<AcquireOp&>(op).request.insert
                                  : &static_cast<WriteOp&>(op).request.body;
}

/// While it lives, the operation gives no empty body.
class WithoutEmptyBody {
 public:
  explicit WithoutEmptyBody(StoreOp& op) : body_(BodyIn(op)) {
    if (body_ != nullptr && !IsBody(*body_)) empty_ = std::exchange(*body_, {});
  }
  WithoutEmptyBody(const WithoutEmptyBody&) = delete;
  WithoutEmptyBody& operator=(const WithoutEmptyBody&) = delete;
  ~WithoutEmptyBody() {
    if (empty_) *body_ = std::move(empty_);
  }

 private:
  Body* const body_;
  Body empty_;
};

const char* Unpromised(const GrantRequest& grant) {
  if (grant.min_hold.count() > 0) return "min_hold";
  if (!grant.group.empty()) return "groups";
  return grant.queue_for.count() > 0 ? "queue" : nullptr;
}
const char* Unpromised(const AcquireOp& op) {
  const bool has_bodies = op.collection->has_bodies();
  // A caller that wants an existing document wants its body.
  if (!has_bodies && (!op.request.insert || IsBody(op.request.insert))) return "bodies";
  if (has_bodies && IsBody(op.request.insert)) return "new documents";
  if (static_cast<const LayoutCollection*>(op.collection)->lacks_index) {
    return "locks without its unique index, which is missing";
  }
  return Unpromised(op.request.grant);
}
const char* Unpromised(const RenewOp&) { return nullptr; }
const char* Unpromised(const WriteOp& op) {
  const bool writes = op.request.write == WriteKind::kCheckpoint || IsBody(op.request.body);
  if (writes && !op.collection->has_bodies()) return "bodies";
  if (writes && op.request.merge) return "releases by value";
  if (op.request.write == WriteKind::kErase) return "erasures";
  return op.request.next != nullptr ? Unpromised(*op.request.next) : nullptr;
}
const char* Unpromised(const SaveOp& op) {
  return op.collection->has_bodies() ? "writes without the lock" : "bodies";
}
const char* Unpromised(const ReadOp&) { return nullptr; }

bool IsShared(const StoreOp&) { return false; }
bool IsShared(const AcquireOp& op) { return op.request.grant.mode == LockMode::kShared; }
bool IsShared(const RenewOp& op) { return op.request.mode == LockMode::kShared; }
bool IsShared(const WriteOp& op) { return op.request.mode == LockMode::kShared; }

/// What the operation asks for and the layout cannot promise; null: nothing.
const char* Unpromised(const StoreOp& op) {
  const Layout& layout = *LayoutOf(*op.collection);
  const bool has_bodies = op.collection->has_bodies();
  const Key key = KeyIn(layout, *op.key);
  if (has_bodies && !std::holds_alternative<Uuid>(key.value())) return "keys but UUIDs";
  if (!has_bodies && !std::holds_alternative<std::string>(key.value())) return "keys but text";
  return Visit(op, [&](const auto& one) {
    return IsShared(one) && !layout.has_shares() ? "shared locks" : Unpromised(one);
  });
}

/// The time of one of several, which must not keep the others from theirs.
Deadline PartOf(Deadline deadline) {
  constexpr milliseconds kLeast{100};
  const auto now = std::chrono::steady_clock::now();
  return std::min(deadline, now + std::max<Deadline::duration>((deadline - now) / 4, kLeast));
}

/// A write of a body whose answer was lost meets another lock, or none. If the body stands there, a
/// release has done its work; one that hands the lock over, if that is the next holder's. Else what
/// became of it is not known.
void JudgeRetry(locking::Database& database, StoreOp& op, Deadline deadline) {
  const bool is_gone = op.status == OpStatus::kLost || op.status == OpStatus::kMissing;
  if (op.kind != OpKind::kWrite || !op.is_retry || !is_gone) return;
  const auto& write = static_cast<const WriteOp&>(op);
  if (!write.request.body) return;
  ReadOp look(*op.collection, {*op.key, op.hash});
  StoreOp* const one[] = {&look};
  locking::Execute(database, one, deadline);
  const bool is_stored = look.status == OpStatus::kDone &&
                         IsStored(write.request.body.json(), look.result.body.json());
  const bool is_next =
      write.request.next == nullptr || look.result.lock_id == write.request.next->lock_id;
  if (write.request.write == WriteKind::kRelease && is_stored && is_next) return;
  op.Doubt("the lock is gone, and whether the body was stored before is not known");
}

}  // namespace

void ExecuteTheirs(locking::Database& database, std::span<StoreOp* const> ops, Deadline deadline) {
  // Renewals come first.
  std::map<std::pair<bool, Collection*>, std::vector<StoreOp*>> at_once;
  std::vector<StoreOp*> others;
  std::deque<WithoutEmptyBody> without;
  for (StoreOp* const op : ops) {
    op->MakePending();
    without.emplace_back(*op);
    if (const char* const feature = Unpromised(*op)) {
      op->Fail(Errc::kRefused, RefusalText(*op->collection, feature));
    } else if (NeedsNoLook(rules::PlainOf(*op))) {
      at_once[{op->kind != OpKind::kRenew, op->collection}].push_back(op);
    } else {
      others.push_back(op);
    }
  }
  // Others wait for these, and they take one command for each collection.
  for (const auto& [where, some] : at_once) locking::Execute(database, some, deadline);
  // By itself: a grant's fence is the time of its own look.
  for (StoreOp* const op : others) {
    const Deadline end = others.size() == 1 ? deadline : PartOf(deadline);
    locking::Execute(database, {&op, 1}, end);
    JudgeRetry(database, *op, end);
    // Who else waits is not stored.
    if (op->kind == OpKind::kAcquire) static_cast<AcquireOp&>(*op).result.ahead.reset();
  }
}

}  // namespace doclock::mongodb
