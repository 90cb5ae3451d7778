#include <algorithm>
#include <deque>
#include <set>
#include <utility>
#include <variant>

#include "filter_words.h"
#include "looker.h"
#include "stage.h"

namespace doclock::conformance::script {
namespace {

#define DOCLOCK_SCRIPT_GRANT \
  "[{BODY}] [shared] [ttl TIME] [queue TIME] [min-hold TIME] [group NAME] [limit N] [unnamed]"

const Verbs& StoreVerbs() {
  static const Verbs verbs{
      "WHO acquire KEY " DOCLOCK_SCRIPT_GRANT,
      "WHO create KEY " DOCLOCK_SCRIPT_GRANT,
      "WHO next " DOCLOCK_SCRIPT_GRANT " and the words of a filter",
      "WHO renew KEY [shared] [ttl TIME]",
      "WHO release KEY [v1] [{BODY}] [merge] [shared] [mark NAME] [to NAME [entry NAME] GRANT]",
      "WHO checkpoint KEY [v1] [{BODY}] [ttl TIME] [shared]",
      "WHO erase KEY [v1] [shared]",
      "WHO leave KEY",
      "WHO insert KEY [{BODY}]",
      "WHO replace KEY v1 [{BODY}] [life N]",
      "WHO remove KEY [v1] [life N]",
      "WHO read KEY",
      "batch WHO VERB ... ; WHO VERB ...",
      "commit WHO VERB ... ; WHO VERB ...",
      "find and the words of a filter",
      "index FIELD[,FIELD...] [unique]",
      "advance TIME|a-tick [less-a-tick]",
      "purge [first N]",
      "locks [of KEY] [group NAME] [unheld]",
      "break KEY",
      "steal KEY",
      "expire KEY",
      "spoil KEY",
      "spoil-share KEY",
  };
  return verbs;
}

/// An operation, and what it points to.
struct Call {
  std::variant<AcquireOp, RenewOp, WriteOp, SaveOp, ReadOp> op;
  std::unique_ptr<GrantRequest> next = nullptr;

  StoreOp& store_op() {
    return std::visit([](auto& one) -> StoreOp& { return one; }, op);
  }
};

class StoreStage : public Stage {
 public:
  explicit StoreStage(Backend backend) : backend_(std::move(backend)), time_(backend_) {
    names_[kSharedLockId] = "shares";
  }

  [[nodiscard]] const Verbs& verbs() const override { return StoreVerbs(); }
  std::string Do(Command& command) override {
    if (command.actors.empty()) return DoAlone(command.verb, command.words);
    if (command.verb == "next") return Next(command.actors.front(), command.words);
    std::vector<std::string> replies;
    EachCall(command, [&](const Actor& actor, Call& call) {
      StoreOp* const ops[] = {&call.store_op()};
      SideOf(actor).store->Execute(ops, kBudget);
      replies.push_back(ReplyOf(call));
    });
    return FirstAndLast(replies.front(), replies.back());
  }
  std::string Look(const std::string& expected) override { return looker_.Changes(expected); }

 private:
  struct Side {
    std::shared_ptr<Store> store;
    std::shared_ptr<Collection> collection;
  };
  Side& SideOf(const Actor& actor) {
    if (!actor.there) return here_;
    if (!backend_.open_another) throw ScriptError("@there needs: another process");
    if (!there_.store) there_ = Open(backend_.open_another());
    return there_;
  }
  static Side Open(std::shared_ptr<Store> store) {
    auto collection = store->Open("things", {}, kTtl);
    return {std::move(store), std::move(collection)};
  }

  /// Calls `act` with the operation of each actor.
  template <class Act>
  void EachCall(Command& command, const Act& act) {
    Words used = command.words;
    for (const Actor& actor : command.actors) {
      used = command.words;
      Call call = CallOf(actor, command.verb, used);
      act(actor, call);
    }
    command.words = used;
  }
  Call CallOf(const Actor& actor, const std::string& verb, Words& words);
  Call Acquire(Side& side, const Actor& actor, const std::string& verb, Words& words);
  Call Write(Side& side, const Actor& actor, const std::string& verb, Words& words);
  Call Save(Side& side, const Actor& actor, const std::string& verb, Words& words);
  GrantRequest GrantOf(const std::string& name, Words& words);

  std::string DoAlone(const std::string& verb, Words& words);
  std::string Together(const std::string& verb, Words& words);
  std::string Advance(Words& words);
  std::string Next(const Actor& actor, Words& words);
  std::string Find(Words& words);
  std::string Locks(Words& words);

  std::string ReplyOf(Call& call);
  std::string Granted(const AcquireOp& op);
  std::string Done(const AcquireOp& op) { return Granted(op); }
  std::string Done(const RenewOp&) { return "done"; }
  std::string Done(const WriteOp& op) { return Written(op.write == WriteKind::kErase, op.version); }
  std::string Done(const SaveOp& op) {
    return Written(op.save == SaveKind::kErase, op.version) +
           (op.save == SaveKind::kInsert && op.born.is_nil() ? ", BUT WITHOUT A LIFE" : "");
  }
  std::string Done(const ReadOp& op) {
    return "v" + std::to_string(op.version) + " " + op.body.json().dump();
  }
  static std::string Written(bool erased, std::int64_t version) {
    return erased ? "done" : "done, v" + std::to_string(version);
  }
  std::string Busy(const StoreOp& op);
  std::string Until(Ms left) const { return MomentText(now_ + left); }

  const Key& KeyOf(const std::string& text) {
    looker_.Know(text);
    return *keys_.insert(Key(text)).first;
  }
  /// An actor is one attempt, and has one lock id. No client has the ids nil and shares.
  Uuid IdOf(const std::string& name) {
    if (name == "nil") return {};
    if (name == "shares") return kSharedLockId;
    auto [place, fresh] = ids_.try_emplace(name);
    if (fresh) names_[place->second = FreshId()] = name;
    return place->second;
  }
  /// The document's incarnation: the present one, or `life N`. The life 0 never was.
  Uuid BornOf(const Key& key, Words& words) {
    std::vector<Uuid>& lives = lives_[key];
    const ReadOp read = looker_.Read(key);
    const bool is_new = lives.empty() || lives.back() != read.born;
    if (read.status == OpStatus::kDone && is_new) lives.push_back(read.born);
    const auto life = static_cast<std::size_t>(
        words.NumberAfter("life").value_or(static_cast<int>(lives.size())));
    if (life > lives.size()) throw ScriptError("the document had no such life");
    return life == 0 ? FreshId() : lives[life - 1];
  }

  Backend backend_;
  StoreTime time_;
  Ms now_{};
  Names names_;
  std::map<std::string, Uuid> ids_;
  std::set<Key> keys_;
  std::map<Key, std::vector<Uuid>> lives_;
  Side here_ = Open(backend_.store);
  Side there_;
  Looker looker_{*here_.store,
                 *here_.collection,
                 names_,
                 {.queues = true, .slack = Slack(backend_.slack)},
                 [this](const Uuid&, Ms left) { return " until " + Until(left); }};
};

GrantRequest StoreStage::GrantOf(const std::string& name, Words& words) {
  GrantRequest grant;
  grant.lock_id = IdOf(name);
  grant.ttl = words.LengthAfter("ttl").value_or(kTtl);
  grant.min_hold = words.LengthAfter("min-hold").value_or(0ms);
  grant.group = words.After("group").value_or("");
  grant.queue_for = words.LengthAfter("queue").value_or(0ms);
  if (words.Flag("shared")) grant.mode = LockMode::kShared;
  grant.max_holders = words.NumberAfter("limit").value_or(kMaxHolders);
  if (words.Flag("unnamed")) return grant;
  LockHolder holder;
  holder.name = name;
  grant.owner = std::make_shared<const LockHolder>(std::move(holder));
  return grant;
}

Call StoreStage::Acquire(Side& side, const Actor& actor, const std::string& verb, Words& words) {
  AcquireOp op(*side.collection, KeyOf(words.Take()));
  op.grant = GrantOf(actor.name, words);
  if (const auto body = words.Object()) op.insert = Body::FromJson(*body);
  if (verb == "create" && !op.insert) op.insert = Body::FromJson(Json::object());
  return {std::move(op)};
}

Call StoreStage::Write(Side& side, const Actor& actor, const std::string& verb, Words& words) {
  WriteOp op(*side.collection, KeyOf(words.Take()));
  op.write = verb == "checkpoint" ? WriteKind::kCheckpoint
             : verb == "erase"    ? WriteKind::kErase
             : verb == "leave"    ? WriteKind::kLeave
                                  : WriteKind::kRelease;
  op.lock_id = IdOf(actor.name);
  if (const auto mark = words.After("mark")) op.release_id = IdOf(*mark);
  std::unique_ptr<GrantRequest> next;
  if (const auto name = words.After("to")) {
    next = std::make_unique<GrantRequest>();
    const std::optional<std::string> entry = words.After("entry");
    *next = GrantOf(*name, words);
    if (entry) next->entry = IdOf(*entry);
    op.next = next.get();
  }
  op.expected = words.Version().value_or(kAnyVersion);
  op.merge = words.Flag("merge");
  if (const auto body = words.Object()) op.body = Body::FromJson(*body);
  op.ttl = words.LengthAfter("ttl").value_or(kTtl);
  if (words.Flag("shared")) op.mode = LockMode::kShared;
  return {std::move(op), std::move(next)};
}

Call StoreStage::Save(Side& side, const Actor& actor, const std::string& verb, Words& words) {
  const Key& key = KeyOf(words.Take());
  SaveOp op(*side.collection, key);
  op.save = verb == "insert"    ? SaveKind::kInsert
            : verb == "replace" ? SaveKind::kReplace
                                : SaveKind::kErase;
  op.write_id = FreshId();
  names_[op.write_id] = actor.name + "'s save";
  op.expected = words.Version().value_or(kAnyVersion);
  if (op.save != SaveKind::kInsert) op.born = BornOf(key, words);
  if (const auto body = words.Object()) op.body = Body::FromJson(*body);
  return {std::move(op)};
}

Call StoreStage::CallOf(const Actor& actor, const std::string& verb, Words& words) {
  Side& side = SideOf(actor);
  if (verb == "acquire" || verb == "create") return Acquire(side, actor, verb, words);
  if (verb == "release" || verb == "checkpoint" || verb == "erase" || verb == "leave") {
    return Write(side, actor, verb, words);
  }
  if (verb == "insert" || verb == "replace" || verb == "remove") {
    return Save(side, actor, verb, words);
  }
  if (verb == "read") return Call{ReadOp(*side.collection, KeyOf(words.Take()))};
  if (verb != "renew") throw ScriptError(Quoted(verb) + " stands alone");
  RenewOp op(*side.collection, KeyOf(words.Take()));
  op.lock_id = IdOf(actor.name);
  op.ttl = words.LengthAfter("ttl").value_or(kTtl);
  if (words.Flag("shared")) op.mode = LockMode::kShared;
  return Call{std::move(op)};
}

std::string StoreStage::Advance(Words& words) {
  const std::string text = words.Flag("a-tick") ? "" : LengthText(words.TakeLength());
  const Ms tick = words.Flag("less-a-tick") ? time_.tick() : 0ms;
  const Ms by = text.empty() ? time_.tick() : *LengthOf(text) - tick;
  time_.Advance(by);
  now_ += by;
  looker_.KnowNone();
  return "";
}

/// Steps without an actor.
std::string StoreStage::DoAlone(const std::string& verb, Words& words) {
  if (verb == "advance") return Advance(words);
  if (verb == "batch" || verb == "commit") return Together(verb, words);
  if (verb == "locks") return Locks(words);
  if (verb == "find") return Find(words);
  if (verb == "index") {
    IndexSpec index;
    const std::string fields = words.Take();
    for (std::size_t begin = 0; begin < fields.size();) {
      const std::size_t end = std::min(fields.find(',', begin), fields.size());
      index.fields.push_back(fields.substr(begin, end - begin));
      begin = end + 1;
    }
    index.unique = words.Flag("unique");
    try {
      here_.store->EnsureIndex(*here_.collection, index);
      return "";
    } catch (const Error& error) {
      return WordOf(error.errc());
    }
  }
  if (verb == "purge") {
    looker_.KnowNone();
    const int limit = words.NumberAfter("first").value_or(1000);
    return std::to_string(here_.store->Purge(*here_.collection, limit, kBudget)) + " cleared";
  }
  const Key& key = KeyOf(words.Take());
  if (verb == "spoil" && backend_.spoil) return backend_.spoil("things", key), "";
  if (verb == "spoil-share" && backend_.spoil_share) return backend_.spoil_share("things", key), "";
  if (verb == "spoil" || verb == "spoil-share") {
    throw ScriptError("the case does not say needs: " + verb);
  }
  return Intervene(verb, *here_.store, key);
}

/// Several operations in one call, or in one transaction.
std::string StoreStage::Together(const std::string& verb, Words& words) {
  std::deque<Call> calls;
  std::vector<std::size_t> ends;  // of the steps
  std::shared_ptr<Store> store;
  std::vector<std::string> step;
  const auto add = [&] {
    Command command = CommandOf(std::exchange(step, {}), StoreVerbs());
    EachCall(command, [&](const Actor& actor, Call& call) {
      store = SideOf(actor).store;
      calls.push_back(std::move(call));
    });
    command.words.Finish();
    ends.push_back(calls.size());
  };
  for (std::string& word : words.Rest()) word == ";" ? add() : step.push_back(std::move(word));
  add();
  std::vector<StoreOp*> ops;
  for (Call& call : calls) ops.push_back(&call.store_op());
  if (verb == "batch") {
    store->Execute(ops, kBudget);
  } else {
    CommitOp commit;
    commit.ops = ops;
    store->Commit(commit, kBudget);
  }
  looker_.KnowNone();
  const auto reply = [&](Call& call) {
    const bool is_open = verb == "commit" && call.store_op().status == OpStatus::kPending;
    return is_open ? "not done" : ReplyOf(call);
  };
  std::vector<std::string> replies;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    replies.push_back(FirstAndLast(reply(calls[begin]), reply(calls[end - 1])));
    begin = end;
  }
  return Joined(replies, "; ");
}

std::string StoreStage::Next(const Actor& actor, Words& words) {
  const Key unknown;
  Key key;
  Side& side = SideOf(actor);
  Call call{AcquireOp(*side.collection, unknown)};
  auto& op = std::get<AcquireOp>(call.op);
  op.grant = GrantOf(actor.name, words);
  side.store->AcquireNext(FilterOf(words), op, key, kBudget);
  if (op.status != OpStatus::kDone) return ReplyOf(call);
  const std::string text = std::get<std::string>(key.value());
  looker_.Know(text);
  return text + " " + ReplyOf(call);
}

std::string StoreStage::Find(Words& words) {
  std::vector<QueryRow> rows;
  const auto add = [&](QueryRow&& row) {
    rows.push_back(std::move(row));
    return true;
  };
  here_.store->Query(*here_.collection, FilterOf(words), add, kBudget);
  std::vector<std::string> texts;
  for (const QueryRow& row : rows) {
    texts.push_back(std::get<std::string>(row.key.value()) + (row.locked ? " locked" : ""));
    const ReadOp read = looker_.Read(row.key);
    if (read.version != row.version || read.born != row.born || read.locked != row.locked ||
        read.body.json() != row.body.json()) {
      texts.emplace_back("BUT A READ SHOWS ANOTHER");
    }
  }
  return texts.empty() ? "none" : Joined(texts);
}

std::string StoreStage::Locks(Words& words) {
  LockQuery query;
  if (const auto group = words.After("group")) query.group = *group;
  if (const auto key = words.After("of")) query.key = Key(*key);
  query.unheld = words.Flag("unheld");
  std::set<std::string> lines;
  for (const LockRow& row : looker_.Rows(query)) {
    const std::string key = std::get<std::string>(row.key.value());
    std::string line = key + (row.malformed ? " malformed" : "");
    if (!row.malformed && row.lock_id.is_nil()) {
      line += query.unheld ? " free" : " free, BUT LISTED";
    } else if (!row.malformed) {
      line += " " + looker_.NameOf(row.lock_id) + (row.mode == LockMode::kShared ? " shared" : "") +
              " (" + row.holder.name + ") of " + LengthText(row.ttl) +
              (row.live ? " until " + Until(row.left) : ", over") +
              (row.waiting > 0 ? ", " + std::to_string(row.waiting) + " waiting" : "");
    }
    if (!lines.insert(line).second) lines.insert(key + " BUT LISTED TWICE");
  }
  return lines.empty() ? "none" : Joined({lines.begin(), lines.end()}, "; ");
}

std::string StoreStage::Busy(const StoreOp& op) {
  if (!op.detail) return "busy, BUT WITHOUT A DETAIL";
  const OpDetail& detail = *op.detail;
  std::vector<std::string> parts{"busy"};
  if (detail.remaining) parts[0] += " until " + Until(*detail.remaining);
  if (!detail.holder.name.empty()) parts[0] += " (" + detail.holder.name + ")";
  if (detail.kept_closed) parts.emplace_back("closed");
  if (op.kind != OpKind::kAcquire) return Joined(parts);
  const auto& acquire = static_cast<const AcquireOp&>(op);
  if (acquire.queued) parts.emplace_back("queued");
  if (acquire.ahead && (*acquire.ahead > 0 || acquire.queued)) {
    parts.push_back(std::to_string(*acquire.ahead) + " ahead");
  }
  if (acquire.queued) {
    const ReadOp read = looker_.Read(*op.key);
    if (read.born != acquire.born) parts.emplace_back("BUT IN ANOTHER LIFE");
    if (read.version < acquire.version) parts.emplace_back("BUT AT A LATER VERSION");
  }
  return Joined(parts);
}

std::string StoreStage::Granted(const AcquireOp& op) {
  std::vector<std::string> parts{"granted v" + std::to_string(op.version)};
  if (op.created) parts.emplace_back("created");
  if (op.took_over) parts.emplace_back("took over");
  if (op.passed_on) parts.emplace_back("passed on");
  const ReadOp read = looker_.Read(*op.key);
  if (op.body.json() != read.body.json()) {
    parts.push_back("BUT WITH THE BODY " + op.body.json().dump());
  }
  if (op.born != read.born) parts.emplace_back("BUT IN ANOTHER LIFE");
  if (op.created && op.born != op.grant.lock_id) parts.emplace_back("BUT BORN OF ANOTHER");
  return Joined(parts);
}

std::string StoreStage::ReplyOf(Call& call) {
  const StoreOp& op = call.store_op();
  switch (op.status) {
    case OpStatus::kDone:
      return std::visit([this](auto& one) { return Done(one); }, call.op);
    case OpStatus::kBusy:
      return Busy(op);
    case OpStatus::kMissing:
      return "missing";
    case OpStatus::kConflict:
      if (!op.detail) return "conflict";
      if (!op.detail->index.empty()) return "conflict over " + op.detail->index;
      return "conflict" + (op.detail->found_version
                               ? " with v" + std::to_string(*op.detail->found_version)
                               : std::string());
    case OpStatus::kLost:
      return "lost";
    case OpStatus::kInDoubt:
      return "in doubt";
    case OpStatus::kFailed:
      return op.detail ? WordOf(op.detail->code) : "failed, BUT WITHOUT A DETAIL";
    default:
      return "BUT IT IS PENDING";
  }
}

}  // namespace

std::unique_ptr<Stage> MakeStoreStage(Backend backend) {
  return std::make_unique<StoreStage>(std::move(backend));
}

}  // namespace doclock::conformance::script
