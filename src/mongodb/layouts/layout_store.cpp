#include "mongodb/layouts/layout_store.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "locking/program.h"
#include "mongodb/admin/admin.h"
#include "mongodb/layouts/as_stored.h"
#include "mongodb/layouts/judge_retry.h"
#include "mongodb/layouts/layout_unit.h"
#include "mongodb/operations/execute.h"
#include "mongodb/operations/operations.h"
#include "rules/rules.h"

namespace doclock::mongodb {
namespace {

using locking::Deadline;
using rules::Plain;
using std::chrono::milliseconds;

class LayoutCollection final : public Collection {
 public:
  LayoutCollection(const std::string& name, milliseconds default_ttl, const Layout& layout)
      : Collection(name, {}, default_ttl), layout_(layout) {}
  [[nodiscard]] const Turns* turns() const noexcept override { return &layout_.turns(); }
  [[nodiscard]] bool has_bodies() const noexcept override {
    return layout_.beside_body() != nullptr;
  }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  /// Without the index that their locks need to exclude each other nothing is granted.
  bool lacks_index = false;

 private:
  const Layout& layout_;
};

std::string RefusalText(const Collection& collection, const char* feature) {
  return "the collection " + collection.name() + " has the layout " + LayoutOf(collection).name() +
         ", which has no " + feature;
}

[[noreturn]] void Refuse(const Collection& collection, const char* feature) {
  throw StoreException(Errc::kRefused, "doclock: MongoDB: " + RefusalText(collection, feature));
}

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
  const bool has_bodies = op.collection->has_bodies();
  if (has_bodies && !std::holds_alternative<Uuid>(op.key->value())) return "keys but UUIDs";
  if (!has_bodies && !std::holds_alternative<std::string>(op.key->value())) return "keys but text";
  return Visit(op, [&](const auto& one) {
    return IsShared(one) && !LayoutOf(*op.collection).has_shares() ? "shared locks"
                                                                   : Unpromised(one);
  });
}

/// The first operation on a collection with a layout; there is one.
StoreOp& FirstOf(std::span<StoreOp* const> ops) {
  return **std::find_if(ops.begin(), ops.end(),
                        [](const StoreOp* op) { return op->collection->turns() != nullptr; });
}

/// The time of one of several, which must not keep the others from theirs.
Deadline PartOf(Deadline deadline) {
  constexpr milliseconds kLeast{100};
  const auto now = std::chrono::steady_clock::now();
  return std::min(deadline, now + std::max<Deadline::duration>((deadline - now) / 4, kLeast));
}

class LayoutDatabase final : public locking::Database {
 public:
  LayoutDatabase(Server& server, const Layouts& layouts, bool creates)
      : Database(locking::InChild::kRefused),
        server_(server),
        layouts_(layouts),
        creates_(creates) {}

  [[nodiscard]] StoreTraits traits() const noexcept override { return {}; }
  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   milliseconds default_ttl) override {
    if (fields != LockFieldNames{}) {
      throw std::invalid_argument("doclock: lock_fields are for collections without a layout");
    }
    if (!server_.is_replica_set()) {
      throw StoreException(Errc::kRefused,
                           "doclock: MongoDB: a collection with a layout needs a "
                           "replica set, whose operation time makes the fence");
    }
    auto collection = std::make_shared<LayoutCollection>(name, default_ttl, *layouts_.at(name));
    const Layout& layout = LayoutOf(*collection);
    CheckPlace(server_, *collection, layout.Index(), layout.library());
    // Without it the other library's locks do not exclude each other.
    const bool by_index = layout.key_field() != std::string_view("_id");
    if (!by_index || HasIndex(server_, *collection, layout.Index(), false)) return collection;
    collection->lacks_index = !creates_;
    if (creates_) MakeIndex(*collection);
    return collection;
  }
  std::unique_ptr<locking::Unit> Begin(locking::Access, Deadline deadline) override {
    return std::make_unique<LayoutUnit>(server_, deadline);
  }
  [[nodiscard]] bool CanRun(Plain kind) const noexcept override {
    return kind == Plain::kRenew || kind == Plain::kRenewShare || kind == Plain::kRelease ||
           kind == Plain::kEndShare;
  }
  void RunPlain(std::span<const rules::PlainOp> ops, bool /*alone*/, Deadline deadline) override {
    std::vector<RenewOp*> renewals;
    std::vector<WriteOp*> releases;
    for (const auto& [kind, op] : ops) {
      op->kind == OpKind::kRenew ? renewals.push_back(static_cast<RenewOp*>(op))
                                 : releases.push_back(static_cast<WriteOp*>(op));
    }
    if (!releases.empty()) Release(releases, deadline);
    if (!renewals.empty()) Renew(std::move(renewals), deadline);
  }
  /// Waiters poll, as those of the other library: a process that learnt of a release at once would
  /// leave them nothing.
  std::unique_ptr<Subscription> Watch(Collection&, HintListener) override { return nullptr; }
  [[nodiscard]] std::optional<std::vector<std::string>> ListCollections(
      Deadline deadline) override {
    return mongodb::ListCollections(server_, Until(deadline));
  }
  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    if (!index.held_locks) Refuse(collection, "indexes over bodies");
    MakeIndex(collection);
  }
  std::vector<Finding> Examine(Collection* collection, Deadline deadline) override {
    const Layout& layout = LayoutOf(*collection);
    return ExaminePlace(server_, *collection, layout.Index(), layout.library(), Until(deadline));
  }

 private:
  void MakeIndex(const Collection& collection) {
    const Doc index = LayoutOf(collection).Index();
    if (index.empty()) Refuse(collection, "indexes");
    Reply reply;
    CreateIndex(server_, collection, index, reply);
    if (reply.is_duplicate()) {
      bson_t lock;  // servers before 4.4 do not tell it
      const bool told = FindDocument(reply.doc(), "keyValue", lock);
      const std::string name = told ? TextAt(lock, LayoutOf(collection).key_field()) : "";
      throw StoreException(Errc::kRefused, "doclock: MongoDB: the collection " + collection.name() +
                                               " has two documents of one lock" +
                                               (name.empty() ? "" : ", '" + name + "'"));
    }
    // The other library goes on with an index that is a little different.
    constexpr int kIndexAlreadyExists = 68;
    const bool exists = reply.code == kIndexAlreadyExists || IsIndexConflict(reply);
    if (!exists || !HasIndex(server_, collection, index, true)) Check(reply);
  }
  /// Of one collection. What matched nothing is left to a unit. Of several the server does not tell
  /// which that is: all are in doubt, and the same release again finds out.
  void Release(std::span<WriteOp* const> ops, Deadline deadline) {
    std::map<Verb, std::vector<WriteOp*>> of;
    std::map<Verb, Array> statements;
    for (WriteOp* const op : ops) {
      const Statement statement = LayoutOf(*op->collection).Release(*op);
      of[statement.verb].push_back(op);
      statements[statement.verb].Add(statement.doc);
    }
    for (const auto& [verb, some] : of) {
      Doc command = CommandOf(verb, *some.front()->collection, statements[verb], false);
      Reply reply;
      Operations(server_, Until(deadline)).Write(command, reply);
      const std::int64_t matched = reply.Integer("n");
      for (std::size_t i = 0; i < some.size(); ++i) {
        WriteOp& op = *some[i];
        if (Operations::Settled(op, reply.Of(i)) || matched == 0) continue;
        op.result.version = op.request.expected == kAnyVersion ? 0 : op.request.expected;
        op.status = OpStatus::kDone;
        if (matched < static_cast<std::int64_t>(some.size())) {
          op.Doubt("some locks were lost, and the server does not tell which");
        }
      }
    }
  }
  /// Of one collection. If some matched nothing, a look settles those that are not live, and the
  /// others go once more. What is open then is left to a unit, as is another lease of a document.
  void Renew(std::vector<RenewOp*> open, Deadline deadline) {
    constexpr int kMostRounds = 3;
    milliseconds ttl = open.front()->request.ttl;
    for (const RenewOp* const op : open) ttl = std::min(ttl, op->request.ttl);
    // The next renewal has to come early enough.
    deadline = std::min(deadline, std::chrono::steady_clock::now() + ttl / 6);
    Pool& pool = server_.For(Purpose::kRenewals, std::min(ttl / 10, Until(deadline)));
    Operations operations(server_, pool, deadline);
    const auto send = [&](std::span<RenewOp* const> ops, milliseconds limit) {
      return RenewAtOnce(operations.Within(limit), ops);
    };
    for (int round = 1;; ++round) {
      // The rest of the time is for going around blocked documents.
      const milliseconds limit = operations.left() / (open.size() == 1 ? 1 : 3);
      if (!send(open, limit)) operations.RenewInParts(open, send);
      std::erase_if(open, [](const RenewOp* op) { return op->status != OpStatus::kPending; });
      if (open.empty() || round == kMostRounds) return;
      const auto key = [](const RenewOp* op) -> const Key& { return *op->key; };
      std::ranges::sort(open, {}, key);  // a look shows a document once
      open.erase(std::ranges::unique(open, {}, key).begin(), open.end());
      if (!SettleLost(operations, open)) return;
    }
  }
  /// See Operations::RenewalSender.
  static bool RenewAtOnce(Operations operations, std::span<RenewOp* const> ops) {
    const Collection& collection = *ops.front()->collection;
    Array statements;
    for (const RenewOp* const op : ops) statements.Add(LayoutOf(collection).Renewal(*op));
    Doc command = CommandOf(Verb::kUpdate, collection, statements, false);
    Reply reply;
    operations.Write(command, reply);
    if (reply.ran_out_of_time() && ops.size() > 1) return false;
    const bool all = reply.Integer("n") == static_cast<std::int64_t>(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (!Operations::Settled(*ops[i], reply.Of(i)) && all) ops[i]->status = OpStatus::kDone;
    }
    return true;
  }
  /// Leaves those whose lease is live. False: there are none, or nothing was found out.
  static bool SettleLost(Operations& operations, std::vector<RenewOp*>& open) {
    const Collection& collection = *open.front()->collection;
    std::vector<const Key*> keys;
    for (const RenewOp* const op : open) keys.push_back(op->key);
    std::vector<OpStatus> shown(open.size(), OpStatus::kMissing);
    std::map<std::size_t, std::string> bad;
    Reply reply;
    const bool complete = operations.Look(
        collection, keys, {.whole = true, .key_field = LayoutOf(collection).key_field()},
        [&](std::size_t place, Operations::Shown&& sight) {
          std::string field;
          const Layout& layout = LayoutOf(collection);
          const rules::LockState lock = layout.Read(sight.doc, sight.now, field);
          const bool live = rules::MayRenew(*open[place], lock, kLookedAt) && layout.MayRenew(lock);
          shown[place] = live ? OpStatus::kPending : OpStatus::kLost;
          if (!field.empty()) bad.emplace(place, std::move(field));
        },
        reply);
    if (!complete) return false;
    for (std::size_t i = 0; i < open.size(); ++i) open[i]->status = shown[i];
    for (const auto& [place, field] : bad) {
      open[place]->Fail(Errc::kMalformed, locking::MalformedText(field.c_str()));
    }
    std::erase_if(open, [](const RenewOp* op) { return op->status != OpStatus::kPending; });
    return !open.empty();
  }

  Server& server_;
  const Layouts layouts_;
  const bool creates_;
};

}  // namespace

const Layout& LayoutOf(const Collection& collection) {
  return static_cast<const LayoutCollection&>(collection).layout();
}

LayoutStore::LayoutStore(Server& server, const ClockWatch& clocks, Layouts layouts, bool creates)
    : LockingStore(std::make_unique<LayoutDatabase>(server, layouts, creates), creates),
      clocks_(clocks),
      layouts_(std::move(layouts)) {}

void LayoutStore::Execute(std::span<StoreOp* const> ops, milliseconds budget) {
  if (Refuses(ops)) return;
  const Deadline deadline = In(budget);
  // Renewals come first.
  std::map<std::pair<bool, Collection*>, std::vector<StoreOp*>> at_once;
  std::vector<StoreOp*> others;
  std::deque<AsStored> as_stored;
  for (StoreOp* const op : ops) {
    op->MakePending();
    as_stored.emplace_back(*op);
    if (const char* const feature = Unpromised(*op)) {
      op->Fail(Errc::kRefused, RefusalText(*op->collection, feature));
    } else if (!FailIfTooShort(*op, clocks_)) {
      const bool is_plain = database().CanRun(rules::PlainOf(*op));
      const std::pair where(op->kind != OpKind::kRenew, op->collection);
      (is_plain ? at_once[where] : others).push_back(op);
    }
  }
  // Others wait for these, and they take one command for each collection.
  for (const auto& [where, some] : at_once) locking::Execute(database(), some, deadline);
  // By itself: a grant's fence is the time of its own look.
  for (StoreOp* const op : others) {
    const Deadline end = others.size() == 1 ? deadline : PartOf(deadline);
    locking::Execute(database(), {&op, 1}, end);
    JudgeRetry(database(), *op, end);
    // Who else waits is not stored.
    if (op->kind == OpKind::kAcquire) static_cast<AcquireOp&>(*op).result.ahead.reset();
  }
}

void LayoutStore::Commit(CommitOp& commit, milliseconds) {
  for (StoreOp* const op : commit.ops) op->MakePending();
  StoreOp& theirs = FirstOf(commit.ops);
  theirs.Fail(Errc::kRefused, RefusalText(*theirs.collection, "transactions"));
}

void LayoutStore::ReadTogether(std::span<StoreOp* const> reads, milliseconds) {
  const std::string text = RefusalText(*FirstOf(reads).collection, "joint reads");
  for (StoreOp* const op : reads) op->Fail(Errc::kRefused, text);
}

void LayoutStore::Query(Collection& collection, const Filter&,
                        const std::function<bool(QueryRow&&)>&, milliseconds) {
  Refuse(collection, "searches");
}

void LayoutStore::AcquireNext(const Filter&, AcquireOp& op, Key&, milliseconds) {
  op.Fail(Errc::kRefused, RefusalText(*op.collection, "searches"));
}

}  // namespace doclock::mongodb
