#include "mongodb/operations/batch.h"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <map>
#include <utility>

#include "mongodb/bson/body_codec.h"
#include "mongodb/protocol/write_command.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

/// With more statements a command would last longer than its share of the time.
constexpr std::size_t kMostStatements = 128;
/// A larger statement gains nothing in a shared command, and may delay the others.
constexpr std::uint32_t kLarge = 1u << 20;
/// Statements that failed together are tried again in this many parts.
constexpr std::size_t kParts = 8;

AcquireOp& AsAcquire(StoreOp& op) { return static_cast<AcquireOp&>(op); }
WriteOp& AsWrite(StoreOp& op) { return static_cast<WriteOp&>(op); }
SaveOp& AsSave(StoreOp& op) { return static_cast<SaveOp&>(op); }

/// Is it a duplicate key that means only that the document exists?
bool IsThere(const CommandResult& result) {
  return result.answered() && result.is_duplicate() && result.duplicate == "_id";
}

/// Was it sent as a release that matches only where there is no queue?
bool MayHaveMetQueue(const StoreOp& op) {
  if (op.kind != OpKind::kWrite) return false;
  const auto& write = static_cast<const WriteOp&>(op);
  return IsPlainRelease(write) && ReleaseToOf(write) == ReleaseTo::kNobody;
}

/// Is it the document that the operation knows? A new document of this key begins its versions
/// anew.
bool IsSame(const Uuid& born, const StoredLock& lock) {
  return !born.is_nil() && lock.born == born;
}

}  // namespace

/// A part of the remaining time, for a command that may be blocked: the others need the rest.
/// Enough for a command that is only slow.
milliseconds Batch::Share(int parts) const {
  const milliseconds left = operations_.left();
  if (is_single_) return left;
  return std::min(std::max(left / parts, milliseconds(100)), left);
}

void Batch::Run(std::span<const rules::PlainOp> ops) {
  std::array<Statements, 3> by_verb;
  std::vector<StoreOp*> alone;
  for (const rules::PlainOp& plain : ops) {
    if (NeedsOwnCommand(plain)) {
      alone.push_back(plain.op);
      continue;
    }
    Statement statement;
    statement.op = plain.op;
    if (Build(statement)) {
      by_verb[static_cast<std::size_t>(VerbOf(*plain.op))].push_back(std::move(statement));
    }
  }
  for (const Verb verb : {Verb::kUpdate, Verb::kDelete, Verb::kInsert}) {
    SendAll(verb, std::move(by_verb[static_cast<std::size_t>(verb)]));
  }
  for (StoreOp* op : alone) Alone(*op);
}

/// In the fewest commands.
void Batch::Alone(StoreOp& op) {
  Operations operations = operations_.Within(Share(4));
  try {
    if (op.kind == OpKind::kAcquire) return operations.Execute(AsAcquire(op));
    if (op.kind == OpKind::kWrite) return operations.Execute(AsWrite(op));
  } catch (const DocumentException& error) {
    // The body was put into BSON before anything was sent.
    return op.Fail(Errc::kDocument, error.what());
  }
  Statements one(1);
  one.front().op = &op;
  if (Build(one.front())) Send(VerbOf(op), std::move(one), Share(4));
}

/// Operations that need more than one statement, or an answer that a statement among others does
/// not get.
bool Batch::NeedsOwnCommand(const rules::PlainOp& plain) const {
  using rules::Plain;
  switch (plain.kind) {
    case Plain::kTakeFree:
      return is_single_;  // its answer shows the document
    case Plain::kTakeAndClose:
      return is_single_ || AsAcquire(*plain.op).request.insert;
    // An entry of its id may have been granted the lock: among others that would show as a grant by
    // this command.
    case Plain::kJoinQueue:
    case Plain::kTakeShare:
    case Plain::kEndShare:
    case Plain::kEraseAny:
      return true;
    case Plain::kSave:
      return false;
    default:
      break;
  }
  const WriteOp& write = AsWrite(*plain.op);
  return write.request.lock_id == kSharedLockId || write.request.lock_id.is_nil() ||
         write.request.expected == kAnyVersion;
}

bool Batch::Build(Statement& statement) const {
  StoreOp& op = *statement.op;
  try {
    if (op.kind == OpKind::kAcquire) {
      const AcquireOp& acquire = AsAcquire(op);
      const StoredLock* const seen = statement.expected ? &*statement.expected : nullptr;
      const bool upsert = seen == nullptr && CanUpsert(acquire);
      statement.born = upsert ? acquire.request.grant.lock_id : Uuid{};
      statement.doc = StatementOf(acquire, seen, statement.born);
    } else if (op.kind == OpKind::kWrite) {
      const WriteOp& write = AsWrite(op);
      statement.doc = StatementOf(write, ReleaseToOf(write));
    } else {
      SaveOp& save = AsSave(op);
      if (save.request.save == SaveKind::kInsert) statement.born = NewUuid();
      statement.doc = StatementOf(save, nullptr, statement.born);
    }
    return true;
  } catch (const DocumentException& error) {
    op.Fail(Errc::kDocument, error.what());
    return false;
  }
}

/// In commands of no more than kMostCommandBytes and kMostStatements.
void Batch::SendAll(Verb verb, Statements statements) {
  Statements some, large;
  std::uint32_t bytes = 0;
  for (Statement& statement : statements) {
    const std::uint32_t size = statement.doc.get()->len;
    if (size > kLarge) {
      large.push_back(std::move(statement));
      continue;
    }
    if (bytes + size > kMostCommandBytes || some.size() == kMostStatements) {
      Send(verb, std::exchange(some, {}), Share(8));
      bytes = 0;
    }
    bytes += size;
    some.push_back(std::move(statement));
  }
  Send(verb, std::move(some), Share(8));
  for (Statement& statement : large) {
    Statements one;
    one.push_back(std::move(statement));
    Send(verb, std::move(one), Share(4));
  }
}

void Batch::Send(Verb verb, Statements statements, milliseconds limit) {
  if (statements.empty()) return;
  const bool single = statements.size() == 1;
  if (single && statements.front().op->kind == OpKind::kAcquire) {
    Statement& one = statements.front();
    if (one.attempts == 0) return Alone(*one.op);
    return operations_.Within(limit).Execute(AsAcquire(*one.op), std::move(one.expected),
                                             one.attempts);
  }
  Array docs;
  for (const Statement& statement : statements) docs.Add(statement.doc);
  Doc command = CommandOf(verb, *statements.front().op->collection, docs, false);
  Reply reply;
  operations_.Within(limit).Write(command, reply);
  reply.Fits(statements.size());
  if (!single && (reply.ran_out_of_time() || reply.outcome == Outcome::kRefused)) {
    return Recover(verb, std::move(statements), reply);
  }
  if (reply.answered()) {
    return verb == Verb::kInsert ? JudgeInserts(std::move(statements), reply)
                                 : Judge(verb, std::move(statements), reply);
  }
  for (std::size_t i = 0; i < statements.size(); ++i) {
    // A statement's own error is a fact, whatever else is in doubt.
    StoreOp& op = *statements[i].op;
    if (!Operations::Settled(op, reply.Of(i))) op.Fail(Errc::kUnavailable, reply.text);
  }
}

/// False: the outcome is unknown; `reply` says why.
bool Batch::LookAt(Statements& statements, Operations::Sees sees, Reply& reply) {
  std::vector<const Key*> keys;
  Array mine;
  for (Statement& statement : statements) {
    statement.sight.reset();
    keys.push_back(statement.op->key);
    if (statement.op->kind == OpKind::kAcquire)
      mine.Add(AsAcquire(*statement.op).request.grant.lock_id);
  }
  const bool complete = operations_.Look(
      *statements.front().op->collection, keys, {.sees = sees, .mine = &mine},
      [&](std::size_t place, Operations::Shown&& shown) {
        StoreOp& op = *statements[place].op;
        Sight sight{std::move(shown.lock), {}};
        if (op.kind == OpKind::kAcquire &&
            sight.lock.lock_id == AsAcquire(op).request.grant.lock_id) {
          sight.body = Body::FromJson(ReadBody(shown.doc, op.collection->fields()));
        }
        statements[place].sight = std::move(sight);
      },
      reply);
  for (Statement& statement : statements) statement.verdict = VerdictOn(statement);
  return complete;
}

/// A document shows its past only while it is the same document, and not forever. So kNotDone needs
/// a proof, as kDone does: a write may have been done and be hidden by later ones.
Batch::Verdict Batch::VerdictOn(const Statement& statement) {
  const StoreOp& op = *statement.op;
  if (op.kind == OpKind::kWrite) {
    return VerdictOn(static_cast<const WriteOp&>(op), statement.sight);
  }
  if (op.kind == OpKind::kSave) {
    return VerdictOn(static_cast<const SaveOp&>(op), statement.born, statement.sight);
  }
  const auto& acquire = static_cast<const AcquireOp&>(op);
  // It may have created the document, and another client erased it: it must not create it again.
  if (!statement.sight) return acquire.request.insert ? Verdict::kUnknown : Verdict::kNotDone;
  // A grant that was broken since counts as none, and so does one that is over.
  const StoredLock& lock = statement.sight->lock;
  const bool holds = lock.lock_id == acquire.request.grant.lock_id && lock.IsLive(kLookedAt);
  return holds ? Verdict::kDone : Verdict::kNotDone;
}

Batch::Verdict Batch::VerdictOn(const WriteOp& op, const std::optional<Sight>& sight) {
  if (!sight) return Verdict::kUnknown;  // erased: by this, or by another client
  const StoredLock& lock = sight->lock;
  const bool mine = lock.lock_id == op.request.lock_id;
  const bool same = IsSame(op.request.born, lock);
  if (op.request.write == WriteKind::kErase)
    return mine || same ? Verdict::kNotDone : Verdict::kUnknown;
  const bool unmoved = lock.version == op.request.expected;
  if (op.request.write == WriteKind::kCheckpoint) {
    if (mine && lock.version == op.request.expected + 1) return Verdict::kDone;
    // It leaves no mark: its lock may have expired since, and been purged.
    return unmoved && (mine || same) ? Verdict::kNotDone : Verdict::kUnknown;
  }
  if (lock.released == op.request.ReleaseId()) return Verdict::kDone;
  if (op.request.next != nullptr && lock.lock_id == op.request.next->lock_id) return Verdict::kDone;
  if (mine) return Verdict::kNotDone;
  // The next version would bear its mark; after that one it may have been overwritten.
  return same && lock.version <= op.request.expected + 1 ? Verdict::kNotDone : Verdict::kUnknown;
}

Batch::Verdict Batch::VerdictOn(const SaveOp& op, const Uuid& born,
                                const std::optional<Sight>& sight) {
  if (!sight) return Verdict::kUnknown;
  const StoredLock& lock = sight->lock;
  if (op.request.save == SaveKind::kInsert)
    return lock.born == born ? Verdict::kDone : Verdict::kUnknown;
  const bool same = IsSame(op.request.born, lock);
  if (op.request.save == SaveKind::kErase) return same ? Verdict::kNotDone : Verdict::kUnknown;
  if (lock.released == op.request.write_id) return Verdict::kDone;
  return same && lock.version <= op.request.expected + 1 ? Verdict::kNotDone : Verdict::kUnknown;
}

/// What the document shows to be done by the command, as it seems.
bool Batch::SeemsDone(const Statement& statement) {
  return statement.verdict == Verdict::kDone &&
         !statement.op->is_retry;  // else it may be of before
}

/// The server has counted fewer than seem to be done: some documents show an earlier write by the
/// same lock, whose holder names a version that is past, or releases twice; or an earlier grant
/// under an id that is used twice. None of them shows whether it is one of those.
void Batch::Disprove(Statements& statements, std::int64_t done) {
  if (done >= std::count_if(statements.begin(), statements.end(), SeemsDone)) return;
  for (Statement& statement : statements) {
    if (SeemsDone(statement)) statement.verdict = done == 0 ? Verdict::kNotDone : Verdict::kUnknown;
  }
}

/// The server has counted how many were done: often that settles those whose documents do not.
void Batch::Count(Statements& statements, std::int64_t done) {
  Disprove(statements, done);
  const auto count = [&](const auto& which) {
    return std::count_if(statements.begin(), statements.end(), which);
  };
  const auto surely = count(SeemsDone);
  const auto at_most = count([](const Statement& one) {
    return one.verdict != Verdict::kNotDone || one.op->kind == OpKind::kAcquire;
  });
  for (Statement& statement : statements) {
    if (done > at_most && statement.verdict == Verdict::kNotDone &&
        statement.op->kind != OpKind::kAcquire) {
      statement.verdict = Verdict::kUnknown;  // another program wrote over one that was done
    }
    if (statement.verdict != Verdict::kUnknown) continue;
    if (done == surely) {
      statement.verdict = Verdict::kNotDone;
    } else if (done == at_most && statement.op->kind != OpKind::kAcquire) {
      statement.verdict = Verdict::kDone;
    }
  }
}

void Batch::JudgeInserts(Statements statements, const Reply& reply) {
  Statements there;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    if (Operations::Settled(*statements[i].op, reply.Of(i))) continue;
    if (IsThere(reply.Of(i))) {
      there.push_back(std::move(statements[i]));
    } else {
      SettleDone(statements[i], true);
    }
  }
  if (!there.empty() && statements.size() > 1) JudgeBySight(Verb::kInsert, std::move(there), 0);
}

void Batch::Judge(Verb verb, Statements statements, const Reply& reply) {
  std::vector<bool> made(statements.size(), false);
  std::int64_t done = reply.Integer("n");
  reply.ForEachIn("upserted", [&](const bson_t& item) {
    bson_iter_t index;
    if (!bson_iter_init_find(&index, &item, "index")) return true;
    const auto place = static_cast<std::size_t>(bson_iter_as_int64(&index));
    if (place < made.size()) made[place] = true;
    return true;
  });
  Statements open;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    if (made[i]) {
      SettleDone(statements[i], true);
      --done;
    } else if (!Operations::Settled(*statements[i].op, reply.Of(i))) {
      open.push_back(std::move(statements[i]));
    }
  }
  if (done == static_cast<std::int64_t>(open.size())) {
    // Only acquires have more to learn.
    done -= static_cast<std::int64_t>(std::erase_if(open, [](Statement& statement) {
      if (statement.op->kind == OpKind::kAcquire) return false;
      SettleDone(statement, false);
      return true;
    }));
  }
  if (statements.size() == 1) {
    std::erase_if(open, [&](Statement& statement) {
      return !MayHaveMetQueue(*statement.op) || !BuildForQueue(statement);
    });
    return SendAll(verb, std::move(open));
  }
  if (!open.empty()) JudgeBySight(verb, std::move(open), done);
}

void Batch::JudgeBySight(Verb verb, Statements statements, std::int64_t done) {
  Reply look;
  const bool complete = LookAt(statements, Operations::Sees::kLatest, look);
  if (complete) Count(statements, done);
  Statements again;
  for (Statement& statement : statements) {
    if (!complete && done == 0) {
      statement.op->Fail(Errc::kUnavailable, look.text);
    } else if (!complete || statement.verdict == Verdict::kUnknown) {
      statement.op->Doubt("whether the write was done is not known");
    } else if (statement.verdict == Verdict::kDone) {
      SettleDone(statement, false);
    } else if (!SettleNotDone(statement)) {
      again.push_back(std::move(statement));
    }
  }
  SendAll(verb, std::move(again));
}

void Batch::SettleDone(Statement& statement, bool created) {
  StoreOp& op = *statement.op;
  op.status = OpStatus::kDone;
  if (op.kind == OpKind::kAcquire) return SettleAcquire(statement, created);
  if (op.kind == OpKind::kWrite) {
    AsWrite(op).result.version = AsWrite(op).request.expected + 1;
    return;
  }
  SaveOp& save = AsSave(op);
  if (save.request.save == SaveKind::kInsert) save.result.born = statement.born;
  save.result.version = save.request.save == SaveKind::kInsert ? 1 : save.request.expected + 1;
}

void Batch::SettleAcquire(const Statement& statement, bool created) {
  AcquireOp& op = AsAcquire(*statement.op);
  const std::optional<StoredLock>& before = statement.expected;
  op.result.created = created;
  op.result.took_over = before && before->HasLockId();
  op.result.born = created ? statement.born : statement.sight->lock.born;
  op.result.version = created ? 1 : statement.sight->lock.version;
  op.result.body = created ? op.request.insert : statement.sight->body;
}

bool Batch::BuildForQueue(Statement& statement) const {
  statement.op->queue_likely = true;
  return Build(statement);
}

bool Batch::SettleNotDone(Statement& statement) {
  StoredLock* const seen = statement.sight ? &statement.sight->lock : nullptr;
  StoreOp& op = *statement.op;
  if (op.kind != OpKind::kAcquire) {
    // The queue that it met may be gone.
    const bool again = MayHaveMetQueue(op) && seen != nullptr && !seen->malformed() &&
                       seen->lock_id == AsWrite(op).request.lock_id;
    return !again || !BuildForQueue(statement);  // else left pending
  }
  const bool meets_queue = seen != nullptr && MeetsQueue(AsAcquire(op), *seen);
  // That it is missing is a result, which needs a look of its own.
  if (meets_queue || (seen == nullptr && !AsAcquire(op).request.insert)) {
    if (meets_queue) op.queue_likely = true;
    Alone(op);
    return true;
  }
  if (JudgeAcquire(AsAcquire(op), seen)) return true;
  if (++statement.attempts == kMaxAttempts) {
    BusyWithOthers(op);
    return true;
  }
  statement.expected.reset();
  if (seen != nullptr) statement.expected = std::move(*seen);
  return !Build(statement);
}

void Batch::Recover(Verb verb, Statements statements, const Reply& reply) {
  // The server refuses a command before it runs the first statement.
  if (!reply.ran_out_of_time()) return SendInParts(verb, std::move(statements));
  Reply look;
  // What it shows not to be done is sent again: a primary that was replaced may not show it.
  if (!LookAt(statements, Operations::Sees::kConfirmed, look)) {
    for (Statement& statement : statements) Operations::Settled(*statement.op, reply);
    return;
  }
  Statements rest, unconfirmed;
  for (Statement& statement : statements) {
    if (statement.verdict == Verdict::kNotDone) {
      rest.push_back(std::move(statement));
    } else if (statement.verdict == Verdict::kDone && statement.op->kind == OpKind::kAcquire) {
      unconfirmed.push_back(std::move(statement));
    } else {
      // It may have been done; and if that shows, no majority has confirmed it.
      statement.op->Doubt(reply.text);
    }
  }
  Confirm(std::move(unconfirmed));
  SendInParts(verb, std::move(rest));
}

/// Splits the statements, so that one that stops its command stops few others.
void Batch::SendInParts(Verb verb, Statements statements) {
  const milliseconds limit = Share(16);
  const std::size_t size = (statements.size() + kParts - 1) / kParts;
  for (std::size_t i = 0; i < statements.size(); i += size) {
    const auto first = statements.begin() + static_cast<std::ptrdiff_t>(i);
    const auto last =
        statements.begin() + static_cast<std::ptrdiff_t>(std::min(i + size, statements.size()));
    Send(verb, Statements(std::make_move_iterator(first), std::make_move_iterator(last)), limit);
  }
}

/// Confirms grants that the documents show but no majority has acknowledged: renews them, with the
/// acknowledgement of a majority.
void Batch::Confirm(Statements statements) {
  std::map<milliseconds, std::vector<std::size_t>> by_ttl;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    by_ttl[AsAcquire(*statements[i].op).request.grant.ttl].push_back(i);
  }
  for (const auto& [ttl, places] : by_ttl) {
    std::deque<RenewOp> renewals;
    std::vector<RenewOp*> ops;
    for (const std::size_t place : places) {
      const AcquireOp& acquire = AsAcquire(*statements[place].op);
      const OpKey key(*acquire.key, acquire.hash);
      RenewOp& renewal = renewals.emplace_back(*acquire.collection, key);
      renewal.request.lock_id = acquire.request.grant.lock_id;
      renewal.request.ttl = ttl;
      ops.push_back(&renewal);
    }
    operations_.Within(Share(4)).Renew(ops);
    for (std::size_t i = 0; i < places.size(); ++i) {
      Statement& statement = statements[places[i]];
      if (ops[i]->status == OpStatus::kDone) {
        const bool created =
            !statement.born.is_nil() && statement.sight->lock.born == statement.born;
        SettleDone(statement, created);
      } else {
        statement.op->Doubt("whether the lock was granted is not known");
      }
    }
  }
}

}  // namespace doclock::mongodb
