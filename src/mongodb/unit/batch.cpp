#include "mongodb/unit/batch.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "mongodb/bson/body_codec.h"
#include "mongodb/layouts/layout.h"
#include "mongodb/statements/statements.h"

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

bool IsTheirs(const StoreOp& op) { return LayoutOf(*op.collection) != nullptr; }

/// Was it sent as a release that matches only where there is no queue?
bool MayHaveMetQueue(const StoreOp& op) {
  if (op.kind != OpKind::kWrite || IsTheirs(op)) return false;
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
      by_verb[static_cast<std::size_t>(statement.verb)].push_back(std::move(statement));
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
  if (!Build(one.front())) return;
  const Verb verb = one.front().verb;
  Send(verb, std::move(one), Share(4));
}

/// Operations that need more than one statement, or an answer that a statement among others does
/// not get.
bool Batch::NeedsOwnCommand(const rules::PlainOp& plain) const {
  using rules::Plain;
  if (IsTheirs(*plain.op)) return false;
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
  if (const Layout* const layout = LayoutOf(*op.collection)) {
    static_cast<mongodb::Statement&>(statement) = layout->Release(AsWrite(op));
    return true;
  }
  statement.verb = VerbOf(op);
  try {
    if (op.kind == OpKind::kAcquire) {
      AcquireOp& acquire = AsAcquire(op);
      statement.born = CanUpsert(acquire) ? acquire.request.grant.lock_id : Uuid{};
      acquire.result.created = acquire.result.took_over = acquire.result.passed_on = false;
      statement.doc = StatementOf(acquire, nullptr, statement.born);
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
    return Alone(*statements.front().op);
  }
  const bool tells_each = verb != Verb::kDelete && !IsTheirs(*statements.front().op);
  Array docs;
  for (const Statement& statement : statements) {
    tells_each&& verb == Verb::kUpdate ? docs.Add(Told(statement.doc, *statement.op->collection))
                                       : docs.Add(statement.doc);
  }
  Doc command = CommandOf(verb, *statements.front().op->collection, docs, false);
  Reply reply;
  operations_.Within(limit).Write(command, reply);
  reply.Fits(statements.size(), tells_each);
  if (!single && (reply.ran_out_of_time() || reply.outcome == Outcome::kRefused)) {
    return Recover(verb, std::move(statements), reply);
  }
  if (reply.answered()) return Judge(verb, std::move(statements), reply);
  for (std::size_t i = 0; i < statements.size(); ++i) {
    // A statement's own error is a fact, whatever else is in doubt.
    StoreOp& op = *statements[i].op;
    if (!Operations::Settled(op, reply.Of(i))) op.Fail(Errc::kUnavailable, reply.text);
  }
}

/// Returns true; false if the outcome is unknown: `reply` says why.
bool Batch::LookAt(Statements& statements, Operations::Sees sees, Reply& reply) {
  std::vector<const Key*> keys;
  Array mine;
  for (Statement& statement : statements) {
    statement.sight.reset();
    keys.push_back(statement.op->key);
    if (statement.op->kind == OpKind::kAcquire)
      mine.Add(AsAcquire(*statement.op).request.grant.lock_id);
  }
  return operations_.Look(
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
}

/// A document shows its past only while it is the same document, and not forever. So that a
/// statement was not done needs a proof, as that it was does.
Trace Batch::TraceIn(const Statement& statement) {
  const StoreOp& op = *statement.op;
  if (op.kind == OpKind::kAcquire) {
    const auto& acquire = static_cast<const AcquireOp&>(op);
    // It may have made the document, and another client erased it: it must not make it again.
    if (!statement.sight) return acquire.request.insert ? Trace::kUnknown : Trace::kUnmoved;
    // A grant that was broken since counts as none, and so does one that is over.
    const StoredLock& lock = statement.sight->lock;
    const bool holds = lock.lock_id == acquire.request.grant.lock_id && lock.IsLive(kLookedAt);
    return holds ? Trace::kWritten : Trace::kUnmoved;
  }
  // Nor does a document that is gone tell whose erasure that was.
  if (!statement.sight) return Trace::kUnknown;
  ReadOp look(*op.collection, {*op.key, op.hash});
  rules::Read(look, statement.sight->lock, kLookedAt);
  return op.kind == OpKind::kSave ? TraceOf(static_cast<const SaveOp&>(op), look)
                                  : TraceOf(static_cast<const WriteOp&>(op), look);
}

/// Leaves the operation to the rules, unless an earlier sending of it may have been done since the
/// look.
void Batch::MetNothing(const Statement& statement) {
  if (statement.sight) statement.op->Doubt("whether the write was done is not known");
}

void Batch::JudgeDeletes(Statements statements, const Reply& reply) {
  std::size_t place = 0;
  std::erase_if(statements, [&](const Statement& statement) {
    return Operations::Settled(*statement.op, reply.Of(place++));
  });
  std::vector<const Key*> keys;
  for (const Statement& statement : statements) keys.push_back(statement.op->key);
  if (keys.empty()) return;
  const auto survived = [&](std::size_t at, const Operations::Shown& shown) {
    const StoreOp& op = *statements[at].op;
    if (op.kind == OpKind::kSave)
      return IsSame(static_cast<const SaveOp&>(op).request.born, shown.lock);
    const auto& write = static_cast<const WriteOp&>(op);
    // All documents of another library have one incarnation.
    return shown.lock.lock_id == write.request.lock_id ||
           (!IsTheirs(op) && IsSame(write.request.born, shown.lock));
  };
  const auto done = operations_.JudgeDeletes(*statements.front().op->collection, keys,
                                             reply.Integer("n"), {}, survived);
  for (std::size_t i = 0; i < statements.size(); ++i) {
    if (!done[i]) {
      statements[i].op->Doubt("whether the write was done is not known");
    } else if (*done[i]) {
      SettleDone(statements[i], false);
    } else {
      MetNothing(statements[i]);
    }
  }
}

void Batch::Judge(Verb verb, Statements statements, const Reply& reply) {
  if (verb == Verb::kDelete) return JudgeDeletes(std::move(statements), reply);
  std::vector<bool> made(statements.size(), verb == Verb::kInsert);
  reply.ForEachIn("upserted", [&](const bson_t& item) {
    bson_iter_t index;
    if (FindField(item, "index", index)) {
      made[static_cast<std::size_t>(bson_iter_as_int64(&index))] = true;
    }
    return true;
  });
  const bool single = statements.size() == 1;
  const bool tells_each = reply.AccountsFor(statements.size());  // not of another library's
  Statements again, granted, others;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    Statement& statement = statements[i];
    StoreOp& op = *statement.op;
    if (Operations::Settled(op, reply.Of(i))) continue;
    if (!tells_each && reply.Integer("n") > 0) {
      op.Doubt("some locks were lost, and the server does not tell which");
      continue;
    }
    // Else it has met nothing, or a document.
    const bool is_done = tells_each && !reply.HasOwnError(i);
    if (op.kind == OpKind::kAcquire && !made[i]) {
      (is_done ? granted : others).push_back(std::move(statement));
    } else if (is_done) {
      SettleDone(statement, made[i]);
    } else if (single && MayHaveMetQueue(op)) {
      op.queue_likely = true;
      if (Build(statement)) again.push_back(std::move(statement));
    } else {
      MetNothing(statement);
    }
  }
  SendAll(verb, std::move(again));
  JudgeAcquires(std::move(granted), std::move(others));
}

void Batch::JudgeAcquires(Statements granted, Statements others) {
  const std::size_t done = granted.size();
  Statements all = std::move(granted);
  std::ranges::move(others, std::back_inserter(all));
  if (all.empty()) return;
  Reply look;
  const bool complete = LookAt(all, Operations::Sees::kLatest, look);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Statement& statement = all[i];
    AcquireOp& op = AsAcquire(*statement.op);
    const Trace trace = !complete ? Trace::kUnknown : TraceIn(statement);
    if (i < done && trace == Trace::kWritten) {
      SettleDone(statement, false);
    } else if (i < done && trace == Trace::kUnknown) {
      op.Doubt("what was granted is not known");
    } else if (!complete) {
      op.Fail(Errc::kUnavailable, look.text);
    } else {
      std::optional<StoredLock> seen;
      if (statement.sight) seen = std::move(statement.sight->lock);
      operations_.Within(Share(8)).Execute(op, std::move(seen), 1);
    }
  }
}

void Batch::SettleDone(Statement& statement, bool created) {
  StoreOp& op = *statement.op;
  op.status = OpStatus::kDone;
  if (op.kind == OpKind::kAcquire) return SettleAcquire(statement, created);
  if (op.kind == OpKind::kWrite) {
    WriteOp& write = AsWrite(op);
    write.result.version = !IsTheirs(op)                           ? write.request.expected + 1
                           : write.request.expected == kAnyVersion ? 0
                                                                   : write.request.expected;
    return;
  }
  SaveOp& save = AsSave(op);
  // The document may be that of an earlier attempt.
  if (save.request.save == SaveKind::kInsert)
    save.result.born = statement.sight ? statement.sight->lock.born : statement.born;
  save.result.version = save.request.save == SaveKind::kInsert ? 1 : save.request.expected + 1;
}

void Batch::SettleAcquire(const Statement& statement, bool created) {
  AcquireOp& op = AsAcquire(*statement.op);
  op.result.created = created;
  op.result.born = created ? statement.born : statement.sight->lock.born;
  op.result.version = created ? 1 : statement.sight->lock.version;
  op.result.body = created ? op.request.insert : statement.sight->body;
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
  Statements rest;
  for (Statement& statement : statements) {
    switch (TraceIn(statement)) {
      case Trace::kWritten:  // and a majority has it
        SettleDone(statement, IsSame(statement.born, statement.sight->lock));
        break;
      case Trace::kUnmoved:
        rest.push_back(std::move(statement));
        break;
      case Trace::kNever:
      case Trace::kUnknown:
        statement.op->Doubt(reply.text);
        break;
    }
  }
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

}  // namespace doclock::mongodb
