#include "mongodb/unit/execute.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "doclock/errors.h"
#include "doclock/stores/mongodb.h"
#include "doclock/transaction.h"
#include "locking/program.h"
#include "mongodb/client/server_transaction.h"
#include "mongodb/statements/statements.h"
#include "mongodb/unit/operations.h"
#include "rules/rules.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

/// The server decides, by filters, as for single writes. So a transaction is one command for writes
/// of one kind to one collection, and the commit: while it is open it keeps others away. Only if
/// something does not match, it reads the documents, outside of the transaction.
class Committer {
 public:
  Committer(Server& server, CommitOp& commit, std::vector<std::size_t> order, Deadline deadline)
      : server_(server),
        commit_(commit),
        order_(std::move(order)),
        deadline_(deadline),
        // It takes half of the time at most, so that there is some left to ask a commit's outcome.
        pool_(server.For(Purpose::kCalls, Until(deadline) / 2)),
        writes_(commit.ops.size()) {
    // Joined work is not called if one will be refused.
    looks_ = commit.join || std::any_of(commit.ops.begin(), commit.ops.end(),
                                        [](const StoreOp* op) { return NeedsLook(*op); });
  }

  /// Until other clients were not quicker, and the servers answer. @throws Error
  void Run() {
    constexpr milliseconds kLongest{100};
    for (milliseconds pause{5};; pause = std::min(pause * 2, kLongest)) {
      try {
        return RunOnce();
      } catch (const StoreException& error) {
        // An unknown outcome is no reason for another attempt.
        if (error.errc() != Errc::kUnavailable || Until(deadline_) <= pause) throw;
      }
      std::this_thread::sleep_for(pause);
      looks_ = true;
    }
  }

 private:
  struct Write {
    std::optional<StoredLock> seen;
    Doc statement;
    Uuid born{};  ///< The incarnation of the document that it makes.
  };

  /// One that finds its version, or might match what is not its own.
  static bool NeedsLook(const StoreOp& op) noexcept {
    if (op.kind != OpKind::kWrite) return false;
    const auto& write = static_cast<const WriteOp&>(op);
    return write.request.expected == kAnyVersion || write.request.lock_id.is_nil() ||
           write.request.lock_id == kSharedLockId;
  }

  /// Either all is stored, or an operation is refused. @throws Error
  void RunOnce() {
    locking::Reopen(commit_);
    if (looks_ && !Look()) return;
    if (!Build()) return;
    ServerTransaction transaction(server_, pool_, deadline_);
    MongodbJoin native{transaction.client(), transaction.session(), transaction.opts()};
    if (!locking::Join(commit_, &native)) {
      transaction.Distrust(commit_.ops.front()->collection->name());
      return;
    }
    if (!SendAll(transaction)) return;
    Reply reply;
    switch (transaction.Commit(reply)) {
      case ServerTransaction::End::kStored:
        return Done();
      case ServerTransaction::End::kNothing:
        throw StoreException(Errc::kUnavailable, "doclock: MongoDB: " + reply.text);
      case ServerTransaction::End::kUnknown:
        throw InDoubtException("doclock: MongoDB: " + reply.text);
    }
  }

  /// Returns true; false if one was refused.
  bool Refuse(const StoreOp& op) noexcept {
    locking::KeepOnly(op, commit_);
    return false;
  }

  /// Looks at all documents. A majority confirms what they show. Returns true; false if one was
  /// refused.
  bool Look() {
    Operations operations(server_, pool_, deadline_);
    const auto is_other = [&](std::size_t a, std::size_t b) {
      return commit_.ops[a]->collection != commit_.ops[b]->collection;
    };
    for (auto first = order_.begin(); first != order_.end();) {
      const auto last = std::find_if(first, order_.end(),
                                     [&](std::size_t place) { return is_other(*first, place); });
      LookAt(operations, {first, last});
      first = last;
    }
    for (std::size_t i = 0; i < writes_.size(); ++i) {
      if (IsRefused(*commit_.ops[i], writes_[i].seen)) return Refuse(*commit_.ops[i]);
    }
    return true;
  }
  /// At those of one collection.
  void LookAt(Operations& operations, std::span<const std::size_t> places) {
    std::vector<const Key*> keys;
    for (const std::size_t place : places) {
      keys.push_back(commit_.ops[place]->key);
      writes_[place].seen.reset();
    }
    Reply reply;
    const bool complete = operations.Look(
        *commit_.ops[places.front()]->collection, keys, {},
        [&](std::size_t at, Operations::Shown&& shown) {
          writes_[places[at]].seen = std::move(shown.lock);
        },
        reply);
    Check(reply);
    if (!complete) throw locking::Raced();
  }
  static bool IsRefused(StoreOp& op, const std::optional<StoredLock>& seen) {
    const StoredLock* const lock = seen ? &*seen : nullptr;
    if (lock != nullptr && lock->malformed()) {
      Malformed(op, *lock);
      return true;
    }
    if (op.kind == OpKind::kSave) {
      return Settle(op, rules::WhyNotSave(static_cast<const SaveOp&>(op), lock, kLookedAt));
    }
    if (lock != nullptr) {
      return Settle(op, rules::WhyNotWrite(static_cast<const WriteOp&>(op), *lock, kLookedAt));
    }
    op.status = OpStatus::kMissing;
    return true;
  }

  /// False: a body cannot be stored.
  bool Build() {
    for (std::size_t i = 0; i < writes_.size(); ++i) {
      StoreOp& op = *commit_.ops[i];
      try {
        Build(op, writes_[i]);
      } catch (const DocumentException& error) {
        op.Fail(Errc::kDocument, error.what());
        return Refuse(op);
      }
    }
    return true;
  }
  static void Build(StoreOp& op, Write& write) {
    const StoredLock* const seen = write.seen ? &*write.seen : nullptr;
    if (op.kind == OpKind::kSave) {
      auto& save = static_cast<SaveOp&>(op);
      if (save.request.save == SaveKind::kInsert) write.born = NewUuid();
      write.statement = StatementOf(save, seen, write.born);
      return;
    }
    const auto& held = static_cast<const WriteOp&>(op);
    const bool met = seen != nullptr && seen->has_queue;
    write.statement = StatementOf(held, ReleaseToOf(held, met), seen);
  }

  /// Sends the statements in the order of the operations. Returns true; false if one was refused.
  bool SendAll(ServerTransaction& transaction) {
    for (std::size_t first = 0; first < writes_.size();) {
      const std::size_t last = EndOfCommand(first);
      if (!Send(transaction, first, last)) return false;
      first = last;
    }
    return true;
  }
  [[nodiscard]] std::size_t EndOfCommand(std::size_t first) const {
    const StoreOp& op = *commit_.ops[first];
    std::uint32_t bytes = 0;
    std::size_t last = first;
    while (last < writes_.size()) {
      const StoreOp& next = *commit_.ops[last];
      bytes += writes_[last].statement.get()->len;
      const bool fits = last == first || bytes <= kMostCommandBytes;
      if (!fits || VerbOf(next) != VerbOf(op) || next.collection != op.collection) break;
      ++last;
    }
    return last;
  }
  bool Send(ServerTransaction& transaction, std::size_t first, std::size_t last) {
    const StoreOp& op = *commit_.ops[first];
    Array statements;
    for (std::size_t i = first; i < last; ++i) statements.Add(writes_[i].statement);
    Doc command = CommandOf(VerbOf(op), *op.collection, statements, true);
    Reply reply;
    transaction.Run(command, reply);
    // Nothing is stored before the commit.
    if (!reply.Fits(last - first, false)) throw locking::Raced();
    Check(reply);
    for (std::size_t i = first; i < last; ++i) {
      if (!reply.HasOwnError(i - first)) continue;
      const CommandResult& own = reply.Of(i - first);
      // An insert of a document that exists: a read shows its version.
      const bool passes = own.outcome == Outcome::kNotSent || own.outcome == Outcome::kDoubt;
      if (passes || !Operations::Settled(*commit_.ops[i], own)) throw locking::Raced();
      return Refuse(*commit_.ops[i]);
    }
    if (reply.Integer("n") < static_cast<std::int64_t>(last - first)) throw locking::Raced();
    return true;
  }

  void Done() noexcept {
    for (std::size_t i = 0; i < writes_.size(); ++i) {
      StoreOp& op = *commit_.ops[i];
      op.status = OpStatus::kDone;
      const auto after = [&](std::int64_t expected) {
        return (expected == kAnyVersion && writes_[i].seen ? writes_[i].seen->version : expected) +
               1;
      };
      if (op.kind == OpKind::kWrite) {
        auto& write = static_cast<WriteOp&>(op);
        write.result.version = after(write.request.expected);
        continue;
      }
      auto& save = static_cast<SaveOp&>(op);
      const bool inserts = save.request.save == SaveKind::kInsert;
      const std::int64_t expected = save.request.expected;
      save.result.version = inserts ? 1 : save.request.Writes() ? after(expected) : expected;
      if (inserts) save.result.born = writes_[i].born;
    }
  }

  Server& server_;
  CommitOp& commit_;
  const std::vector<std::size_t> order_;  ///< See locking::PlacesInOrder.
  const Deadline deadline_;
  Pool& pool_;
  std::vector<Write> writes_;  ///< One for each operation.
  bool looks_;
};

}  // namespace

void Commit(Server& server, CommitOp& commit, Deadline deadline) {
  std::vector<std::size_t> order = locking::PlacesInOrder(commit);
  if (locking::RefuseFaulty(commit, order)) return;
  Committer(server, commit, std::move(order), deadline).Run();
}

}  // namespace doclock::mongodb
