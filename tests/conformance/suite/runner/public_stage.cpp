#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <climits>
#include <functional>
#include <set>
#include <utility>
#include <variant>

#include "doclock/doclock.h"
#include "doclock/messages.h"
#include "doclock/observer.h"
#include "doclock/testing/faulty_store.h"
#include "filter_words.h"
#include "looker.h"
#include "stage.h"

namespace doclock::conformance::script {
namespace {

using testing::Fault;
using testing::FaultyStore;

#define DOCLOCK_SCRIPT_OPTIONS                                                                    \
  " [shared] [limit N] [ttl TIME] [wait TIME] [forever] [min-hold TIME] [unrenewed] [owner NAME]" \
  " [group NAME]"

/// A client process.
struct Process {
  LockManager manager;
  LockProvider locks{manager, "things"};
  LockingRepository<Json> documents{manager, "things"};
  Inbox inbox{manager};
  Outbox outbox{manager};
};

/// A lock that a client has, or has had.
struct Handle {
  std::variant<HeldLock, Locked<Json>> lock;
  bool shared = false;
  std::unique_ptr<std::stop_callback<std::function<void()>>> on_lost;

  auto Each(auto&& f) { return std::visit(f, lock); }
};

/// An attempt that is under way.
struct Pending {
  boost::asio::cancellation_signal cancel;
  std::optional<std::string> outcome;
};
using PendingPtr = std::shared_ptr<Pending>;

constexpr std::pair<const char*, OpKind> kKinds[] = {{"acquire", OpKind::kAcquire},
                                                     {"renew", OpKind::kRenew},
                                                     {"write", OpKind::kWrite},
                                                     {"save", OpKind::kSave},
                                                     {"read", OpKind::kRead}};

constexpr std::pair<const char*, Fault::Kind> kFaults[] = {
    {"unavailable", Fault::Kind::kErrorBefore},
    {"refused", Fault::Kind::kRefused},
    {"unsent", Fault::Kind::kLostBefore},
    {"unanswered", Fault::Kind::kLostAfter},
    {"late", Fault::Kind::kLate}};

template <class Value, std::size_t kCount>
std::optional<Value> OneOf(const std::pair<const char*, Value> (&all)[kCount], Words& words) {
  for (const auto& [name, value] : all) {
    if (words.Flag(name)) return value;
  }
  return std::nullopt;
}
template <class Value>
Value Needed(std::optional<Value> value, const char* what) {
  if (!value) throw ScriptError(std::string(what) + " is missing");
  return std::move(*value);
}

Json TakeObject(Words& words) { return Needed(words.Object(), "an object {...}"); }

class PublicStage : public Stage {
 public:
  explicit PublicStage(Backend backend) : backend_(std::move(backend)) {
    for (const bool tries : {false, true}) AddGrants(tries);
    AddUses();
    AddDocuments();
    AddTransactions();
    AddFaults();
    AddAdministration();
  }
  /// What is under way ends with its process, while all that it may touch is there.
  ~PublicStage() override {
    closing_ = true;
    store_->OnExecute({});
    for (auto& [who, handle] : handles_) handle.on_lost.reset();
    handles_.clear();
    for (std::unique_ptr<Process>& process : processes_) process.reset();
  }

  std::string Look(const std::string& expected) override {
    std::vector<std::string> parts{looker_.Changes(expected)};
    for (std::string& event : std::exchange(events_, {})) parts.push_back(std::move(event));
    std::erase_if(pending_, [&](const auto& one) {
      const auto& [who, pending] = one;
      if (pending->outcome) parts.push_back(who.first + ": " + *pending->outcome);
      return pending->outcome.has_value();
    });
    std::map<std::string, int> holders;
    for (auto& [who, handle] : handles_) {
      const bool held = handle.Each([](auto& lock) { return lock.held(); });
      if (held && !handle.shared && ++holders[who.second] > 1) {
        parts.push_back("BUT TWO HOLD " + who.second);
      }
    }
    return Joined(parts, "; ");
  }

 protected:
  std::string Take(const Verb& verb, const Turn& turn) override {
    if (!verb.has_actor()) looker_.KnowNone();
    return Timed([&] { return verb.act(turn); });
  }

 private:
  using Who = std::pair<std::string, std::string>;  ///< Client and key.

  Process& ProcessOf(const Actor& actor) {
    std::unique_ptr<Process>& process = processes_[actor.there ? 1 : 0];
    if (!process) {
      ManagerOptions options{.runtime = backend_.clock->runtime()};
      if (!actor.there) options.observer = log_;
      process.reset(new Process{LockManager(store_, std::move(options))});
    }
    return *process;
  }
  /// Rounded: what takes less than half a millisecond takes no time.
  [[nodiscard]] Ms Now() const {
    return std::chrono::floor<Ms>(backend_.clock->Now() - begin_ + 500us);
  }

  template <class All>
  static auto& Found(All& all, const Who& who, const char* has_not) {
    const auto found = all.find(who);
    if (found == all.end()) throw ScriptError(who.first + has_not + who.second);
    return found->second;
  }
  Handle& HandleOf(const Who& who) { return Found(handles_, who, " has no handle of "); }
  template <class Lock>
  Lock& LockOf(const Who& who, const char* has_not) {
    auto* const lock = std::get_if<Lock>(&HandleOf(who).lock);
    if (lock == nullptr) throw ScriptError(who.first + has_not);
    return *lock;
  }
  Locked<Json>& DocumentOf(const Who& who) {
    return LockOf<Locked<Json>>(who, " has the name, and no document");
  }
  Locked<Json>& DocumentOf(const Turn& turn) { return DocumentOf(WhoOf(turn)); }
  HeldLock& NamedOf(const Who& who) {
    return LockOf<HeldLock>(who, " has the document, which renews itself");
  }
  Snapshot<Json>& SnapshotOf(const Who& who) { return Found(snapshots_, who, " has not found "); }

  /// Reads the key that the actor does something with.
  Who WhoOf(const Turn& turn) {
    const std::string key = turn.words.Take();
    looker_.Know(key);
    return {turn.actor.name, key};
  }
  LockingRepository<Json>& DocumentsOf(const Turn& turn) { return ProcessOf(turn.actor).documents; }

  /// Returns the reply, with the moment at which it came if that took time.
  std::string Timed(const std::function<std::string()>& act) {
    const Ms before = Now();
    std::string reply;
    try {
      reply = act();
    } catch (const ScriptError&) {
      throw;
    } catch (const Error& error) {
      reply = ReplyOf(error);
    } catch (const std::invalid_argument& error) {
      reply = std::string("invalid: ") + error.what();
    } catch (const std::logic_error& error) {
      reply = std::string("misuse: ") + error.what();
    } catch (const std::bad_alloc&) {
      reply = "out of memory";
    }
    // An advance takes time by itself.
    const bool took = Now() - before >= 500ms && !reply.empty();
    return took ? reply + ", at " + MomentText(Now()) : reply;
  }

  std::string ReplyOf(const Error& error) {
    last_error_ = error.what();
    last_document_.clear();
    if (const auto& document = error.document()) {
      last_document_ = document->collection + "/" + document->key.ToString() + ": ";
    }
    std::string reply = WordOf(error.errc());
    if (const auto* const lock = dynamic_cast<const LockException*>(&error)) {
      if (lock->errc() == Errc::kBusy && lock->remaining()) {
        reply += " until " + MomentText(Now() + *lock->remaining());
      }
      if (!lock->holder().name.empty()) reply += " (" + lock->holder().name + ")";
    }
    if (dynamic_cast<const DuplicateMessageException*>(&error) != nullptr) return "duplicate";
    if (const auto* const conflict = dynamic_cast<const ConflictException*>(&error)) {
      if (!conflict->index().empty()) reply += " over " + conflict->index();
      if (conflict->found()) reply += " with v" + std::to_string(*conflict->found());
    }
    return reply;
  }

  LockOptions OptionsOf(const Turn& turn) {
    Words& words = turn.words;
    LockOptions options;
    if (const auto ttl = words.LengthAfter("ttl")) options.ttl = *ttl;
    if (words.Flag("forever")) options.wait = kForever;
    if (const auto wait = words.LengthAfter("wait")) options.wait = *wait;
    if (const auto hold = words.LengthAfter("min-hold")) options.min_hold = *hold;
    options.renew = !words.Flag("unrenewed");
    if (words.Flag("shared")) options.mode = LockMode::kShared;
    options.max_holders = words.NumberAfter("limit").value_or(kMaxHolders);
    owner_ = words.After("owner").value_or(turn.actor.name);
    group_ = words.After("group").value_or("");
    options.owner = owner_;
    options.group = group_;
    return options;
  }

  static std::string NameIn(const HeldLock& lock) { return lock.name(); }
  static std::string NameIn(const Locked<Json>& lock) {
    return std::get<std::string>(lock.key().value());
  }
  /// A lock was granted. `next` stands for the key of a document that the filter has found.
  template <class Lock>
  std::string Keep(Who who, Lock lock, const LockOptions& options) {
    std::string reply = who.second == "next" ? NameIn(lock) + " " : "";
    looker_.Know(who.second = NameIn(lock));
    const Uuid id = lock.lock_id();
    names_[id] = who.first;
    if (options.renew) renewed_.insert(id);
    reply += "granted v" + std::to_string(lock.fence());
    if constexpr (std::is_same_v<Lock, Locked<Json>>) {
      reply += (lock.created() ? ", created, has " : ", has ") + lock->dump();
    }
    const std::stop_token lost = lock.lost();
    Drop(who);
    Handle& handle = handles_[who];
    handle.lock = std::move(lock);
    handle.shared = options.mode == LockMode::kShared;
    handle.on_lost = std::make_unique<std::stop_callback<std::function<void()>>>(
        lost, [this, who, id] { Lost(who, id); });
    return reply;
  }

  /// The token has fired. Shows whose the lock is at this moment.
  void Lost(const Who& who, const Uuid& id) {
    renewed_.erase(id);
    const ReadOp read = looker_.Read(Key(who.second));
    std::string text = who.first + " lost " + who.second;
    if (read.status != OpStatus::kDone || !read.result.locked) {
      text += ", which is free";
    } else if (read.result.lock_id != id && read.result.lock_id != kSharedLockId) {
      text += ", which " + looker_.NameOf(read.result.lock_id) + " has";
    }
    events_.push_back(text);
  }

  void Drop(const Who& who) {
    const auto found = handles_.find(who);
    if (found == handles_.end()) return;
    renewed_.erase(found->second.Each([](auto& lock) { return lock.lock_id(); }));
    found->second.on_lost.reset();
    handles_.erase(found);
  }

  /// Waits in the background. `start` begins the attempt with a handler.
  template <class Lock, class Start>
  std::string Wait(const Who& who, const LockOptions& options, const Start& start) {
    const auto pending = std::make_shared<Pending>();
    start(boost::asio::bind_cancellation_slot(
        pending->cancel.slot(),
        [this, who, options, pending](const std::exception_ptr& error, Lock lock) {
          if (closing_) return;
          pending->outcome = Timed([&] {
            if (error) std::rethrow_exception(error);
            return Keep(who, std::move(lock), options);
          });
        }));
    if (pending->outcome) return *pending->outcome;
    if (!pending_.emplace(who, pending).second) throw ScriptError("it waits for that already");
    return "waits";
  }

  template <class Lock>
  std::string KeepIf(const Who& who, std::optional<Lock> lock, const LockOptions& options) {
    return lock ? Keep(who, std::move(*lock), options) : "not now";
  }
  /// Several locks were granted, in this order.
  template <class Lock>
  std::string KeepAll(const Turn& turn, std::vector<Lock> locks, const LockOptions& options) {
    std::vector<std::string> replies;
    for (Lock& lock : locks) {
      const std::string name = NameIn(lock);
      replies.push_back(name + " " + Keep({turn.actor.name, name}, std::move(lock), options));
    }
    return Joined(replies);
  }
  template <class Name>
  std::vector<Name> NamesOf(const Turn& turn) {
    const std::vector<std::string> names = turn.words.Rest();
    for (const std::string& name : names) looker_.Know(name);
    return {names.begin(), names.end()};
  }

  /// Adds the verbs that take locks. Those that try do not wait.
  void AddGrants(bool tries) {
    const std::string more = tries ? DOCLOCK_SCRIPT_OPTIONS : " [...]" DOCLOCK_SCRIPT_OPTIONS;
    const std::string who_tries = tries ? "WHO try-" : "WHO ";
    Add((tries ? "WHO try NAME" : "WHO acquire NAME") + more, [this, tries](const Turn& turn) {
      const Who who = WhoOf(turn);
      const LockOptions options = OptionsOf(turn);
      LockProvider& locks = ProcessOf(turn.actor).locks;
      if (tries) return KeepIf(who, locks.TryAcquire(who.second, options), options);
      if (!turn.words.Flag("...")) return Keep(who, locks.Acquire(who.second, options), options);
      return Wait<HeldLock>(who, options, [&](auto handler) {
        locks.AcquireAsync(who.second, options, std::move(handler));
      });
    });
    Add(who_tries + "lock KEY [{BODY}]" + more, [this, tries](const Turn& turn) {
      const Who who = WhoOf(turn);
      const LockOptions options = OptionsOf(turn);
      const std::optional<Json> body = turn.words.Object();
      const Key key(who.second);
      Target<Json> target = body ? Target<Json>(key, *body) : Target<Json>(key);
      auto& documents = DocumentsOf(turn);
      if (tries) return KeepIf(who, documents.TryLock(std::move(target), options), options);
      if (!turn.words.Flag("...")) {
        return Keep(who, documents.Lock(std::move(target), options), options);
      }
      return Wait<Locked<Json>>(who, options, [&](auto handler) {
        documents.LockAsync(std::move(target), options, std::move(handler));
      });
    });
    Add(who_tries + "next" + more + " " + kFilterUsage, [this, tries](const Turn& turn) {
      const Who who{turn.actor.name, "next"};
      const LockOptions options = OptionsOf(turn);
      const bool waits = turn.words.Flag("...");
      const Filter filter = FilterOf(turn.words);
      auto& documents = DocumentsOf(turn);
      if (tries) return KeepIf(who, documents.TryLockNext(filter, options), options);
      if (!waits) return Keep(who, documents.LockNext(filter, options), options);
      return Wait<Locked<Json>>(who, options, [&](auto handler) {
        documents.LockNextAsync(filter, options, std::move(handler));
      });
    });
    Add(who_tries + "all NAME NAME..." DOCLOCK_SCRIPT_OPTIONS, [this, tries](const Turn& turn) {
      const LockOptions options = OptionsOf(turn);
      const auto names = NamesOf<std::string>(turn);
      LockProvider& locks = ProcessOf(turn.actor).locks;
      if (!tries) return KeepAll(turn, locks.AcquireAll(names, options), options);
      auto all = locks.TryAcquireAll(names, options);
      return all ? KeepAll(turn, std::move(*all), options) : "not now";
    });
  }
  /// Ends a lock by `end`.
  std::string End(const Who& who, const auto& end) {
    Handle& handle = HandleOf(who);
    const Uuid id = handle.Each([](auto& lock) { return lock.lock_id(); });
    handle.Each(end);
    renewed_.erase(id);
    return "done";
  }
  void AddUses() {
    Add("WHO lock-all KEY KEY..." DOCLOCK_SCRIPT_OPTIONS, [this](const Turn& turn) {
      const LockOptions options = OptionsOf(turn);
      return KeepAll(turn, DocumentsOf(turn).LockAll(NamesOf<Key>(turn), options), options);
    });
    Add("WHO give-up KEY|next", [this](const Turn& turn) {
      const Who who{turn.actor.name, turn.words.Take()};
      Pending& pending = *Found(pending_, who, " does not wait for ");
      return pending.cancel.emit(boost::asio::cancellation_type::terminal), "";
    });
    Add("WHO release KEY",
        [this](const Turn& turn) { return End(WhoOf(turn), [](auto& lock) { lock.Release(); }); });
    Add("WHO detach KEY",
        [this](const Turn& turn) { return End(WhoOf(turn), [](auto& lock) { lock.Detach(); }); });
    Add("WHO drop KEY", [this](const Turn& turn) {
      const Who who = WhoOf(turn);
      return HandleOf(who), Drop(who), "";
    });
    Add("WHO held KEY", [this](const Turn& turn) {
      return HandleOf(WhoOf(turn)).Each([](auto& lock) { return lock.held(); }) ? "yes" : "no";
    });
    Add("WHO left KEY", [this](const Turn& turn) {
      const auto left = HandleOf(WhoOf(turn)).Each([](auto& lock) { return lock.Remaining(); });
      return LengthText(std::chrono::ceil<std::chrono::seconds>(left));
    });
    Add("WHO renew NAME [ttl TIME]", [this](const Turn& turn) {
      HeldLock& named = NamedOf(WhoOf(turn));
      return named.Renew(turn.words.LengthAfter("ttl").value_or(0ms)), "done";
    });
    Add("WHO set KEY {FIELDS}", [this](const Turn& turn) {
      return DocumentOf(turn)->merge_patch(TakeObject(turn.words)), "";
    });
    Add("WHO has KEY", [this](const Turn& turn) { return DocumentOf(turn)->dump(); });
    Add("WHO save KEY", [this](const Turn& turn) {
      Locked<Json>& document = DocumentOf(turn);
      return document.Save(), "done, v" + std::to_string(document.version());
    });
    Add("WHO discard KEY", [this](const Turn& turn) { return DocumentOf(turn).Discard(), "done"; });
    Add("WHO erase KEY", [this](const Turn& turn) { return DocumentOf(turn).Erase(), "done"; });
    Add("WHO revert KEY", [this](const Turn& turn) { return DocumentOf(turn).Revert(), "done"; });
  }

  /// What needs no lock.
  void AddDocuments() {
    Add("WHO insert KEY {BODY}", [this](const Turn& turn) {
      const Key key(WhoOf(turn).second);
      return "v" + std::to_string(DocumentsOf(turn).Insert(key, TakeObject(turn.words)));
    });
    Add("WHO delete KEY", [this](const Turn& turn) {
      return DocumentsOf(turn).Erase(Key(WhoOf(turn).second)) ? "done" : "none";
    });
    Add("WHO update KEY {FIELDS}", [this](const Turn& turn) {
      const Key key(WhoOf(turn).second);
      const Json fields = TakeObject(turn.words);
      DocumentsOf(turn).Update(key, [&](Json& document) { document.merge_patch(fields); });
      return "done";
    });
    Add("WHO put KEY {FIELDS}", [this](const Turn& turn) {
      Snapshot<Json>& snapshot = SnapshotOf(WhoOf(turn));
      snapshot->merge_patch(TakeObject(turn.words));
      DocumentsOf(turn).Save(snapshot);
      return "done, v" + std::to_string(snapshot.version());
    });
    Add("WHO find KEY", [this](const Turn& turn) -> std::string {
      const Who who = WhoOf(turn);
      auto found = DocumentsOf(turn).Find(Key(who.second));
      if (!found) return "none";
      Snapshot<Json>& snapshot = snapshots_[who] = std::move(*found);
      return "v" + std::to_string(snapshot.version()) + " " + (*snapshot).dump() +
             (snapshot.locked() ? ", locked" : "");
    });
    Add(std::string("WHO search ") + kFilterUsage, [this](const Turn& turn) {
      std::vector<std::string> rows;
      for (const auto& row : DocumentsOf(turn).Find(FilterOf(turn.words))) {
        rows.push_back(std::get<std::string>(row.key().value()) + (row.locked() ? " locked" : ""));
      }
      return rows.empty() ? "none" : Joined(rows);
    });
    Add("WHO says TEXT", [this](const Turn& turn) {
      const bool says = last_error_.find(turn.words.Take()) != std::string::npos;
      return says ? "yes" : "no: " + last_error_;
    });
    Add("WHO error", [this](const Turn&) { return last_document_ + last_error_; });
    Add("WHO close",
        [this](const Turn& turn) { return ProcessOf(turn.actor).manager.Close(), ""; });
  }

  void AddTransactions() {
    Add("WHO commit release|save|erase|keep KEY ; insert|put KEY {FIELDS} ; remove KEY ; "
        "accept ID ; send {PAYLOAD} [as ID] [order NAME] [position N] [due TIME]",
        [this](const Turn& turn) {
          Transaction transaction(ProcessOf(turn.actor).manager);
          for (std::vector<std::string>& part : turn.words.Parts()) {
            Enlist(transaction, turn.actor, Words(std::move(part)));
          }
          transaction.Commit();
          looker_.KnowNone();
          return "done";
        });
    Add("WHO accepted ID", [this](const Turn& turn) {
      return ProcessOf(turn.actor).inbox.Contains(Key(turn.words.Take())) ? "yes" : "no";
    });
    Add("WHO send-next [fails] [limit N]", [this](const Turn& turn) {
      std::string sent = "nothing";
      const bool fails = turn.words.Flag("fails");
      DispatchOptions options;
      options.max_attempts = turn.words.NumberAfter("limit").value_or(options.max_attempts);
      const auto send = [&](const OutboxMessage& message) {
        sent = message.payload.dump();
        if (message.attempts > 1) sent += ", attempt " + std::to_string(message.attempts);
        if (fails) throw std::runtime_error("no");
      };
      ProcessOf(turn.actor).outbox.SendNext(send, options);
      return sent;
    });
    Add("outbox", [this](const Turn&) {
      const Outbox& outbox = ProcessOf({}).outbox;
      std::string text = std::to_string(outbox.Status().pending) + " pending";
      for (const OutboxMessage& message : outbox.Parked()) {
        text += ", parked " + message.id.ToString() + " (" + message.error + ")";
      }
      return text;
    });
    Add("retry ID|parked", [this](const Turn& turn) -> std::string {
      const Outbox& outbox = ProcessOf({}).outbox;
      const std::string id = turn.words.Take();
      if (id == "parked") return std::to_string(outbox.RetryParked());
      return outbox.Retry(Key(id)) ? "done" : "not parked";
    });
    Add("drop-message ID", [this](const Turn& turn) {
      return ProcessOf({}).outbox.Drop(Key(turn.words.Take())), "done";
    });
  }
  /// Adds a part to a transaction: `save 42`.
  void Enlist(Transaction& transaction, const Actor& actor, Words words) {
    Process& process = ProcessOf(actor);
    const std::string verb = words.Take();
    if (verb == "send") {
      OutboxMessage message;
      message.payload = TakeObject(words);
      message.order = words.After("order").value_or("");
      message.position = words.NumberAfter("position").value_or(0);
      if (const auto id = words.After("as")) message.id = Key(*id);
      if (const auto due = words.LengthAfter("due")) {
        message.due = process.manager.StoreTime().time() + *due;
      }
      process.outbox.Add(transaction, std::move(message));
      return words.Finish();
    }
    const Who who{actor.name, words.Take()};
    if (verb == "accept") return process.inbox.Accept(transaction, Key(who.second)), words.Finish();
    looker_.Know(who.second);
    if (verb == "insert") {
      transaction.Insert(process.documents, Key(who.second), TakeObject(words));
    } else if (verb == "put") {
      Snapshot<Json>& snapshot = SnapshotOf(who);
      snapshot->merge_patch(TakeObject(words));
      transaction.Save(process.documents, snapshot);
    } else if (verb == "remove") {
      transaction.Erase(process.documents, SnapshotOf(who));
    } else if (verb == "expect") {
      transaction.Expect(process.documents, SnapshotOf(who));
    } else if (verb == "keep") {
      transaction.Keep(NamedOf(who));
    } else if (verb == "release") {
      HandleOf(who).Each([&](auto& lock) { transaction.Release(lock); });
    } else if (verb == "save") {
      transaction.Save(DocumentOf(who));
    } else if (verb == "erase") {
      transaction.Erase(DocumentOf(who));
    } else {
      throw ScriptError(Quoted(verb) + " is no part of a transaction");
    }
    words.Finish();
  }

  void AddFaults() {
    testing::ManualClock& clock = *backend_.clock;
    Add("advance TIME",
        [&](const Turn& turn) { return clock.Advance(turn.words.TakeLength()), ""; });
    Add("pause TIME", [&](const Turn& turn) { return clock.Jump(turn.words.TakeLength()), ""; });
    Add("run", [&](const Turn&) { return clock.RunPending(), ""; });
    Add("delay-work TIME",
        [&](const Turn& turn) { return clock.DelayWork(turn.words.TakeLength()), ""; });
    Add("calls", [this](const Turn&) { return Calls(); });
    Add("log", [this, &clock](const Turn&) {
      clock.RunPending();
      const std::string lines = Joined(std::exchange(lines_, {}), "; ");
      return lines.empty() ? "none" : lines;
    });
    Add("fail [next N|every] [acquire|renew|write|save|read] [of KEY] "
        "unavailable|refused|unsent|unanswered|late",
        [this](const Turn& turn) { return Fail(turn.words), ""; });
    Add("heal", [this](const Turn&) { return Finish(), ""; });
    Add("arrive",
        [this](const Turn&) { return std::to_string(store_->ReleaseLate()) + " arrived"; });
    Add("during acquire|renew|write|save|read VERB ...",
        [this](const Turn& turn) { return During(turn.words), ""; });
  }

  void AddAdministration() {
    const auto add = [this](const std::string& usage, const auto& administer) {
      Add(usage, [this, administer](const Turn& turn) {
        return StatusText(administer(ProcessOf({}).locks.Admin(), turn.words));
      });
    };
    add("locks [group NAME] [of KEY]", [](const LockAdmin& admin, Words& words) {
      LockFilter filter;
      if (const auto key = words.After("of")) filter.key = Key(*key);
      filter.group = words.After("group").value_or("");
      return admin.Status(filter);
    });
    add("renew-group NAME [ttl TIME]", [](const LockAdmin& admin, Words& words) {
      const std::string group = words.Take();
      return admin.RenewGroup(group, words.LengthAfter("ttl").value_or(0ms));
    });
    add("release-group NAME",
        [](const LockAdmin& admin, Words& words) { return admin.ReleaseGroup(words.Take()); });
    add("admin-break KEY [by NAME]", [this](const LockAdmin& admin, Words& words) {
      const std::string key = words.Take();
      looker_.Know(key);
      return std::vector{admin.Break(Key(key), words.After("by").value_or(""))};
    });
    Add("purge", [this](const Turn&) {
      return std::to_string(backend_.store->Purge(*collection_, 1000, kBudget)) + " cleared";
    });
    for (const auto& [usage, change] : kInterventions) {
      Add(usage, [this, change = change](const Turn& turn) {
        return Intervene(change, *backend_.store, Key(WhoOf(turn).second));
      });
    }
  }

  std::string StatusText(const std::vector<LockStatus>& locks) {
    std::set<std::string> lines;
    for (const LockStatus& lock : locks) {
      lines.insert(std::get<std::string>(lock.key.value()) + " " + lock.holder.name +
                   (lock.mode == LockMode::kShared ? " shared" : ""));
    }
    return lines.empty() ? "none" : Joined({lines.begin(), lines.end()});
  }

  void Finish() override {
    if (during_) throw ScriptError("what was to happen during a call did not: no such call came");
    if (store_->Heal() > 0) throw ScriptError("a fault never struck: no such operation came");
  }

  void Fail(Words& words) {
    Fault fault;
    fault.op = OneOf(kKinds, words);
    fault.kind = Needed(OneOf(kFaults, words), "the kind of fault");
    if (const auto key = words.After("of")) fault.key = Key(*key);
    fault.times = words.Flag("every") ? INT_MAX : words.NumberAfter("next").value_or(1);
    store_->Inject(fault);
  }

  /// Before the store executes the next operation of a kind, another step happens.
  void During(Words& words) {
    const OpKind kind = Needed(OneOf(kKinds, words), "the kind of operation");
    const std::vector<std::string> step = words.Rest();
    if (Read(step).verb.has_actor()) throw ScriptError("a step within a call has no actor");
    if (std::exchange(during_, true)) throw ScriptError("the last `during` has not happened yet");
    store_->OnExecute([this, kind, step](auto ops) {
      if (ops.front()->kind != kind || !std::exchange(during_, false)) return;
      events_.push_back("meanwhile " + step.front());
      try {
        const std::string reply = Do(Read(step));
        if (!reply.empty()) events_.back() += ": " + reply;
      } catch (const ScriptError& error) {  // the library would take it for the store's
        events_.back() += ": BUT " + std::string(error.what());
      }
    });
  }

  /// The operations that the store was asked for since the last time.
  std::string Calls() {
    std::vector<std::string> parts;
    for (const auto& [name, kind] : kKinds) {
      if (const int count = store_->Count(kind))
        parts.push_back(std::to_string(count) + " " + name);
    }
    store_->Reset();
    return parts.empty() ? "none" : Joined(parts);
  }

  Backend backend_;
  TimePoint begin_ = backend_.clock->Now();
  std::shared_ptr<FaultyStore> store_ = std::make_shared<FaultyStore>(backend_.store);
  std::shared_ptr<Collection> collection_ = store_->Open("things", {}, kTtl);
  Names names_{{kSharedLockId, "shares"}};
  std::set<Uuid> renewed_;  ///< In the background: their ends are not shown.
  Looker looker_{
      *backend_.store, *collection_, names_, false, Slack(0ms), [this](const Uuid& id, Ms left) {
        return renewed_.contains(id) ? "" : " until " + MomentText(Now() + left);
      }};
  std::vector<std::string> lines_;
  const std::shared_ptr<Observer> log_ = std::make_shared<LogObserver>(
      [this](LogLevel level, std::string_view line) {
        static constexpr const char* kLevels[] = {"debug ", "info ", "warning ", "error "};
        lines_.push_back(kLevels[static_cast<int>(level)] + std::string(line.substr(9)));
      },
      LogLevel::kDebug);
  std::string owner_, group_, last_error_, last_document_;
  std::vector<std::string> events_;
  bool closing_ = false;
  bool during_ = false;  ///< Something is to happen during a call.
  std::unique_ptr<Process> processes_[2];
  std::map<Who, PendingPtr> pending_;
  std::map<Who, Handle> handles_;
  std::map<Who, Snapshot<Json>> snapshots_;
};

}  // namespace

std::unique_ptr<Stage> MakePublicStage(Backend backend) {
  return std::make_unique<PublicStage>(std::move(backend));
}

}  // namespace doclock::conformance::script
