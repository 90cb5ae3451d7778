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

constexpr const char* kGrant =
    "[{BODY}] [shared] [ttl TIME] [queue TIME] [min-hold TIME] [group NAME] [limit N] [unnamed]";

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
    AddGrants();
    AddWrites();
    AddSaves();
    AddSearches();
    AddInterventions();
  }

  std::string Look(const std::string& expected) override { return looker_.Changes(expected); }

 protected:
  std::string Take(const Verb& verb, const Turn& turn) override {
    if (!verb.has_actor()) looker_.KnowNone();
    return verb.act(turn);
  }

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

  /// Adds a verb that is one operation on a document, which `fill` fills in.
  template <class Op, class Fill>
  void AddOp(const std::string& usage, const Fill& fill) {
    Add(usage, [this, fill](const Turn& turn) -> std::string {
      Side& side = SideOf(turn.actor);
      Call call{Op(*side.collection, KeyOf(turn.words.Take()))};
      fill(std::get<Op>(call.op), turn, call.next);
      if (gathers_) {
        if (!gathered_.empty() && gathered_for_ != side.store) {
          throw ScriptError("one call has operations of one process");
        }
        gathered_.push_back(std::move(call));
        gathered_for_ = side.store;
        return "";
      }
      StoreOp* const ops[] = {&call.store_op()};
      side.store->Execute(ops, kBudget);
      return ReplyOf(call);
    });
  }

  std::string Done(const AcquireOp& op) { return Granted(op); }
  std::string Done(const RenewOp&) { return "done"; }
  std::string Done(const WriteOp& op) {
    return Written(op.request.write == WriteKind::kErase, op.result.version);
  }
  std::string Done(const SaveOp& op) {
    return Written(op.request.save == SaveKind::kErase, op.result.version) +
           (op.request.save == SaveKind::kInsert && op.result.born.is_nil() ? ", BUT WITHOUT A LIFE"
                                                                            : "");
  }
  std::string Done(const ReadOp& op) {
    return "v" + std::to_string(op.result.version) + " " + op.result.body.json().dump();
  }
  static std::string Written(bool erased, std::int64_t version) {
    return erased ? "done" : "done, v" + std::to_string(version);
  }
  std::string Until(Ms left) const { return MomentText(now_ + left); }

  const Key& KeyOf(const std::string& text) {
    looker_.Know(text);
    return *keys_.insert(Key(text)).first;
  }
  /// An actor is one attempt, and has one lock id. No client has the ids nil and shares.
  Uuid IdOf(const std::string& name) {
    auto [place, fresh] = ids_.try_emplace(name);
    if (fresh) names_[place->second = FreshId()] = name;
    return place->second;
  }
  /// The document's incarnation: the present one, or `life N`. The life 0 never was.
  Uuid BornOf(const Key& key, Words& words) {
    std::vector<Uuid>& lives = lives_[key];
    const ReadOp read = looker_.Read(key);
    const bool is_new = lives.empty() || lives.back() != read.result.born;
    if (read.status == OpStatus::kDone && is_new) lives.push_back(read.result.born);
    const auto life = static_cast<std::size_t>(
        words.NumberAfter("life").value_or(static_cast<int>(lives.size())));
    if (life > lives.size()) throw ScriptError("the document had no such life");
    return life == 0 ? FreshId() : lives[life - 1];
  }

  GrantRequest GrantOf(const std::string& name, Words& words) {
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

  void AddGrants() {
    for (const bool creates : {false, true}) {
      AddOp<AcquireOp>(std::string(creates ? "WHO create KEY " : "WHO acquire KEY ") + kGrant,
                       [this, creates](AcquireOp& op, const Turn& turn, auto&) {
                         op.request.grant = GrantOf(turn.actor.name, turn.words);
                         if (creates) op.request.insert = Body::FromJson(Json::object());
                         if (const auto body = turn.words.Object())
                           op.request.insert = Body::FromJson(*body);
                       });
    }
    AddOp<RenewOp>("WHO renew KEY [shared] [ttl TIME]",
                   [this](RenewOp& op, const Turn& turn, auto&) {
                     op.request.lock_id = IdOf(turn.actor.name);
                     op.request.ttl = turn.words.LengthAfter("ttl").value_or(kTtl);
                     if (turn.words.Flag("shared")) op.request.mode = LockMode::kShared;
                   });
    Add(std::string("WHO next ") + kGrant + " " + kFilterUsage,
        [this](const Turn& turn) { return Next(turn); });
  }

  void AddWrites() {
    const auto add = [this](WriteKind kind, const std::string& usage) {
      AddOp<WriteOp>(usage, [this, kind](WriteOp& op, const Turn& turn, auto& next) {
        Words& words = turn.words;
        op.request.write = kind;
        op.request.lock_id = IdOf(turn.actor.name);
        if (const auto mark = words.After("mark")) op.request.release_id = IdOf(*mark);
        if (const auto name = words.After("to")) {
          next = std::make_unique<GrantRequest>();
          const std::optional<std::string> entry = words.After("entry");
          *next = GrantOf(*name, words);
          if (entry) next->entry = IdOf(*entry);
          op.request.next = next.get();
        }
        op.request.expected = words.Version().value_or(kAnyVersion);
        op.request.merge = words.Flag("merge");
        if (const auto body = words.Object()) op.request.body = Body::FromJson(*body);
        op.request.ttl = words.LengthAfter("ttl").value_or(kTtl);
        if (words.Flag("shared")) op.request.mode = LockMode::kShared;
      });
    };
    add(WriteKind::kRelease,
        "WHO release KEY [v1] [{BODY}] [merge] [shared] [mark NAME] [to NAME [entry NAME] GRANT]");
    add(WriteKind::kCheckpoint, "WHO checkpoint KEY [v1] [{BODY}] [ttl TIME] [shared]");
    add(WriteKind::kErase, "WHO erase KEY [v1] [shared]");
    add(WriteKind::kLeave, "WHO leave KEY");
  }

  void AddSaves() {
    const auto add = [this](SaveKind kind, const std::string& usage) {
      AddOp<SaveOp>(usage, [this, kind](SaveOp& op, const Turn& turn, auto&) {
        op.request.save = kind;
        op.request.write_id = FreshId();
        names_[op.request.write_id] = turn.actor.name + "'s save";
        op.request.expected = turn.words.Version().value_or(kAnyVersion);
        if (kind != SaveKind::kInsert) op.request.born = BornOf(*op.key, turn.words);
        if (const auto body = turn.words.Object()) op.request.body = Body::FromJson(*body);
      });
    };
    add(SaveKind::kInsert, "WHO insert KEY [{BODY}]");
    add(SaveKind::kReplace, "WHO replace KEY v1 [{BODY}] [life N]");
    add(SaveKind::kErase, "WHO remove KEY [v1] [life N]");
    add(SaveKind::kExpect, "WHO expect KEY v1 [life N]");
    AddOp<ReadOp>("WHO read KEY", [](ReadOp&, const Turn&, auto&) {});
    Add("batch WHO VERB ... ; WHO VERB ...",
        [this](const Turn& turn) { return Together(turn.words, false); });
    Add("commit WHO VERB ... ; WHO VERB ...",
        [this](const Turn& turn) { return Together(turn.words, true); });
  }

  void AddSearches() {
    Add(std::string("find ") + kFilterUsage, [this](const Turn& turn) { return Find(turn.words); });
    Add("locks [of KEY] [group NAME] [unheld]",
        [this](const Turn& turn) { return Locks(turn.words); });
    Add("index FIELD[,FIELD...] [unique]", [this](const Turn& turn) -> std::string {
      const std::vector<std::string> fields = AtCommas(turn.words.Take());
      try {
        here_.store->EnsureIndex(*here_.collection, {fields, turn.words.Flag("unique")});
        return "";
      } catch (const Error& error) {
        return WordOf(error.errc());
      }
    });
  }

  void AddInterventions() {
    Add("advance TIME|a-tick [less-a-tick]",
        [this](const Turn& turn) { return Advance(turn.words); });
    Add("purge [first N]", [this](const Turn& turn) {
      const int limit = turn.words.NumberAfter("first").value_or(1000);
      return std::to_string(here_.store->Purge(*here_.collection, limit, kBudget)) + " cleared";
    });
    for (const auto& [usage, change] : kInterventions) {
      Add(usage, [this, change = change](const Turn& turn) {
        return Intervene(change, *here_.store, KeyOf(turn.words.Take()));
      });
    }
    const auto add_spoil = [this](const std::string& name, const auto& spoil) {
      Add(name + " KEY", [this, name, spoil](const Turn& turn) {
        if (!spoil) throw ScriptError("the case does not say needs: " + name);
        return spoil("things", KeyOf(turn.words.Take())), "";
      });
    };
    add_spoil("spoil", backend_.spoil);
    add_spoil("spoil-share", backend_.spoil_share);
  }

  std::string Advance(Words& words) {
    const Ms tick = time_.tick();
    Ms by = words.Flag("a-tick") ? tick : words.TakeLength();
    if (words.Flag("less-a-tick")) by -= tick;
    if (by < 0ms) throw ScriptError("time does not go back");
    time_.Advance(by);
    now_ += by;
    return "";
  }

  /// Several operations in one call, or in one transaction.
  std::string Together(Words& words, bool is_commit) {
    if (std::exchange(gathers_, true)) throw ScriptError("a call has no other in it");
    std::vector<std::size_t> ends{0};  // of the steps
    for (std::vector<std::string>& step : words.Parts()) {
      Do(Read(std::move(step)));
      if (gathered_.size() == ends.back())
        throw ScriptError("a step is no operation on a document");
      ends.push_back(gathered_.size());
    }
    gathers_ = false;
    std::deque<Call> calls = std::exchange(gathered_, {});
    std::vector<StoreOp*> ops;
    for (Call& call : calls) ops.push_back(&call.store_op());
    if (is_commit) {
      CommitOp commit;
      commit.ops = ops;
      gathered_for_->Commit(commit, kBudget);
    } else {
      gathered_for_->Execute(ops, kBudget);
    }
    looker_.KnowNone();
    const auto reply = [&](Call& call) {
      const bool is_open = is_commit && call.store_op().status == OpStatus::kPending;
      return is_open ? "not done" : ReplyOf(call);
    };
    std::vector<std::string> replies;
    for (std::size_t i = 1; i < ends.size(); ++i) {
      std::vector<std::string> of_step;
      for (std::size_t j = ends[i - 1]; j < ends[i]; ++j) of_step.push_back(reply(calls[j]));
      replies.push_back(AsOne(std::move(of_step)));
    }
    return Joined(replies, "; ");
  }

  std::string Next(const Turn& turn) {
    const Key unknown;
    Key key;
    Side& side = SideOf(turn.actor);
    Call call{AcquireOp(*side.collection, unknown)};
    auto& op = std::get<AcquireOp>(call.op);
    op.request.grant = GrantOf(turn.actor.name, turn.words);
    side.store->AcquireNext(FilterOf(turn.words), op, key, kBudget);
    if (op.status != OpStatus::kDone) return ReplyOf(call);
    const std::string text = std::get<std::string>(key.value());
    looker_.Know(text);
    return text + " " + ReplyOf(call);
  }

  std::string Find(Words& words) {
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
      if (read.result.version != row.version || read.result.born != row.born ||
          read.result.locked != row.locked || read.result.body.json() != row.body.json()) {
        texts.emplace_back("BUT A READ SHOWS ANOTHER");
      }
    }
    return texts.empty() ? "none" : Joined(texts);
  }

  std::string Locks(Words& words) {
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
        line += " " + looker_.NameOf(row.lock_id) +
                (row.mode == LockMode::kShared ? " shared" : "") + " (" + row.holder.name +
                ") of " + LengthText(row.ttl) +
                (row.live ? " until " + Until(row.left) : ", over") +
                (row.waiting > 0 ? ", " + std::to_string(row.waiting) + " waiting" : "");
      }
      if (!lines.insert(line).second) lines.insert(key + " BUT LISTED TWICE");
    }
    return lines.empty() ? "none" : Joined({lines.begin(), lines.end()}, "; ");
  }

  std::string Busy(const StoreOp& op) {
    if (!op.detail) return "busy, BUT WITHOUT A DETAIL";
    const OpDetail& detail = *op.detail;
    std::vector<std::string> parts{"busy"};
    if (detail.remaining) parts[0] += " until " + Until(*detail.remaining);
    if (!detail.holder.name.empty()) parts[0] += " (" + detail.holder.name + ")";
    if (detail.kept_closed) parts.emplace_back("closed");
    if (op.kind != OpKind::kAcquire) return Joined(parts);
    const auto& acquire = static_cast<const AcquireOp&>(op);
    if (acquire.result.queued) parts.emplace_back("queued");
    if (acquire.result.ahead && (*acquire.result.ahead > 0 || acquire.result.queued)) {
      parts.push_back(std::to_string(*acquire.result.ahead) + " ahead");
    }
    if (acquire.result.queued) {
      const ReadOp read = looker_.Read(*op.key);
      if (read.result.born != acquire.result.born) parts.emplace_back("BUT IN ANOTHER LIFE");
      if (read.result.version < acquire.result.version)
        parts.emplace_back("BUT AT A LATER VERSION");
    }
    return Joined(parts);
  }

  std::string Granted(const AcquireOp& op) {
    std::vector<std::string> parts{"granted v" + std::to_string(op.result.version)};
    if (op.result.created) parts.emplace_back("created");
    if (op.result.took_over) parts.emplace_back("took over");
    if (op.result.passed_on) parts.emplace_back("passed to it");
    const ReadOp read = looker_.Read(*op.key);
    if (op.result.body.json() != read.result.body.json()) {
      parts.push_back("BUT WITH THE BODY " + op.result.body.json().dump());
    }
    if (op.result.born != read.result.born) parts.emplace_back("BUT IN ANOTHER LIFE");
    if (op.result.created && op.result.born != op.request.grant.lock_id)
      parts.emplace_back("BUT BORN OF ANOTHER");
    return Joined(parts);
  }

  std::string ReplyOf(Call& call) {
    const StoreOp& op = call.store_op();
    switch (op.status) {
      case OpStatus::kDone:
        return std::visit([this](auto& one) { return Done(one); }, call.op);
      case OpStatus::kBusy:
        return Busy(op);
      case OpStatus::kConflict:
        if (!op.detail) return "conflict";
        if (!op.detail->index.empty()) return "conflict over " + op.detail->index;
        return "conflict" + (op.detail->found_version
                                 ? " with v" + std::to_string(*op.detail->found_version)
                                 : std::string());
      case OpStatus::kFailed:
        return op.detail ? WordOf(op.detail->code) : "failed, BUT WITHOUT A DETAIL";
      case OpStatus::kPending:
        return "BUT IT IS PENDING";
      default:
        return ::testing::PrintToString(op.status);
    }
  }

  Backend backend_;
  StoreTime time_;
  Ms now_{};
  Names names_{{kSharedLockId, "shares"}};
  std::map<std::string, Uuid> ids_{{"nil", {}}, {"shares", kSharedLockId}};
  std::set<Key> keys_;
  std::map<Key, std::vector<Uuid>> lives_;
  bool gathers_ = false;  ///< Does a step gather operations, to do them together?
  std::deque<Call> gathered_;
  std::shared_ptr<Store> gathered_for_;
  Side here_ = Open(backend_.store);
  Side there_;
  Looker looker_{*here_.store,
                 *here_.collection,
                 names_,
                 true,
                 Slack(backend_.slack),
                 [this](const Uuid&, Ms left) { return " until " + Until(left); }};
};

}  // namespace

std::unique_ptr<Stage> MakeStoreStage(Backend backend) {
  return std::make_unique<StoreStage>(std::move(backend));
}

}  // namespace doclock::conformance::script
