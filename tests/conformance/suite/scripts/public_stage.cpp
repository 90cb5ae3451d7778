#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <climits>
#include <functional>
#include <set>
#include <utility>
#include <variant>

#include "doclock/doclock.h"
#include "doclock/inbox.h"
#include "doclock/outbox.h"
#include "doclock/testing/faulty_store.h"
#include "filter_words.h"
#include "looker.h"
#include "stage.h"

namespace doclock::conformance::script {
namespace {

using testing::Fault;
using testing::FaultyStore;

#define DOCLOCK_SCRIPT_OPTIONS                                                                    \
  "[shared] [limit N] [ttl TIME] [wait TIME] [forever] [min-hold TIME] [unrenewed] [owner NAME] " \
  "[group NAME]"

const Verbs& PublicVerbs() {
  static const Verbs verbs{
      "WHO acquire NAME " DOCLOCK_SCRIPT_OPTIONS " [...]",
      "WHO try NAME " DOCLOCK_SCRIPT_OPTIONS,
      "WHO lock KEY [{BODY}] " DOCLOCK_SCRIPT_OPTIONS " [...]",
      "WHO try-lock KEY [{BODY}] " DOCLOCK_SCRIPT_OPTIONS,
      "WHO all NAME NAME... " DOCLOCK_SCRIPT_OPTIONS,
      "WHO try-all NAME NAME... " DOCLOCK_SCRIPT_OPTIONS,
      "WHO lock-all KEY KEY... " DOCLOCK_SCRIPT_OPTIONS,
      "WHO next " DOCLOCK_SCRIPT_OPTIONS " [...] and the words of a filter",
      "WHO try-next " DOCLOCK_SCRIPT_OPTIONS " and the words of a filter",
      "WHO give-up KEY|next",
      "WHO release KEY",
      "WHO renew NAME [ttl TIME]",
      "WHO save KEY",
      "WHO discard KEY",
      "WHO erase KEY",
      "WHO revert KEY",
      "WHO detach KEY",
      "WHO drop KEY",
      "WHO held KEY",
      "WHO left KEY",
      "WHO set KEY {FIELDS}",
      "WHO has KEY",
      "WHO insert KEY {BODY}",
      "WHO find KEY",
      "WHO search and the words of a filter",
      "WHO put KEY {FIELDS}",
      "WHO update KEY {FIELDS}",
      "WHO delete KEY",
      "WHO commit release|save|erase|keep KEY ; insert|put KEY {FIELDS} ; remove KEY ; accept ID ; "
      "send {PAYLOAD} [order NAME]",
      "WHO accepted ID",
      "WHO send-next [fails]",
      "WHO close",
      "WHO says TEXT",
      "advance TIME",
      "pause TIME",
      "run",
      "calls",
      "fail [next N|every] [skip N] [acquire|renew|write|save|read] [of KEY] "
      "before|refused|unsent|unanswered|late|throw",
      "heal",
      "arrive",
      "slow work TIME | slow acquire|renew|write|save|read by TIME",
      "during acquire|renew|write|save|read VERB ...",
      "locks [group NAME] [of KEY]",
      "outbox",
      "purge",
      "admin-break KEY [by NAME]",
      "renew-group NAME [ttl TIME]",
      "release-group NAME",
      "break KEY",
      "steal KEY",
      "expire KEY",
  };
  return verbs;
}

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

std::optional<OpKind> KindIn(Words& words) {
  for (const auto& [name, kind] : kKinds) {
    if (words.Flag(name)) return kind;
  }
  return std::nullopt;
}

OpKind TakeKind(Words& words) {
  if (const std::optional<OpKind> kind = KindIn(words)) return *kind;
  throw ScriptError("the kind of operation is missing");
}

Json TakeObject(Words& words) {
  if (std::optional<Json> object = words.Object()) return std::move(*object);
  throw ScriptError("an object {...} is missing");
}

Json Merged(Json tree, const Json& fields) {
  tree.merge_patch(fields);
  return tree;
}

class PublicStage : public Stage {
 public:
  explicit PublicStage(Backend backend) : backend_(std::move(backend)) {
    names_[kSharedLockId] = "shares";
  }
  /// What is under way ends with its process, while all that it may touch is there.
  ~PublicStage() override {
    closing_ = true;
    store_->OnExecute({});
    for (auto& [who, handle] : handles_) handle.on_lost.reset();
    handles_.clear();
    for (std::unique_ptr<Process>& process : processes_) process.reset();
  }

  [[nodiscard]] const Verbs& verbs() const override { return PublicVerbs(); }

  std::string Do(Command& command) override {
    if (command.actors.empty()) {
      return Timed([&] { return DoAlone(command.verb, command.words); });
    }
    std::vector<std::string> replies;
    Words used = command.words;
    for (const Actor& actor : command.actors) {
      used = command.words;
      replies.push_back(Timed([&] { return Act(actor, command.verb, used); }));
    }
    command.words = used;
    return FirstAndLast(replies.front(), replies.back());
  }

  std::string Look(const std::string& expected) override {
    std::vector<std::string> parts{looker_.Changes(expected)};
    for (std::string& event : std::exchange(events_, {})) parts.push_back(std::move(event));
    for (auto pending = pending_.begin(); pending != pending_.end();) {
      if (pending->second->outcome) {
        parts.push_back(pending->first.first + ": " + *pending->second->outcome);
        pending = pending_.erase(pending);
      } else {
        ++pending;
      }
    }
    std::map<std::string, int> holders;
    for (auto& [who, handle] : handles_) {
      const bool held = handle.Each([](auto& lock) { return lock.held(); });
      if (held && !handle.shared && ++holders[who.second] > 1) {
        parts.push_back("BUT TWO HOLD " + who.second);
      }
    }
    return Joined(parts, "; ");
  }

 private:
  using Who = std::pair<std::string, std::string>;  ///< Client and key.

  Process& ProcessOf(const Actor& actor) {
    std::unique_ptr<Process>& process = processes_[actor.there ? 1 : 0];
    if (!process) {
      process.reset(new Process{LockManager(store_, {.runtime = backend_.clock->runtime()})});
    }
    return *process;
  }
  /// Rounded: what takes less than half a millisecond takes no time.
  [[nodiscard]] Ms Now() const {
    return std::chrono::floor<Ms>(backend_.clock->Now() - begin_ + 500us);
  }

  /// Returns the reply, with the moment at which it came if that took time.
  std::string Timed(const std::function<std::string()>& act);
  std::string ReplyOf(const Error& error);
  LockOptions OptionsOf(const Actor& actor, Words& words);

  template <class Lock>
  std::string Keep(const Who& who, Lock lock, const LockOptions& options);
  /// A document was granted whose key the caller did not know.
  std::string KeepNext(const std::string& client, Locked<Json> lock, const LockOptions& options) {
    const std::string key = std::get<std::string>(lock.key().value());
    looker_.Know(key);
    return key + " " + Keep({client, key}, std::move(lock), options);
  }
  void Lost(const Who& who, const Uuid& id);
  void Drop(const Who& who);
  Handle& HandleOf(const Who& who) {
    const auto found = handles_.find(who);
    if (found == handles_.end()) throw ScriptError(who.first + " has no handle of " + who.second);
    return found->second;
  }
  Locked<Json>& DocumentOf(const Who& who) {
    auto* const document = std::get_if<Locked<Json>>(&HandleOf(who).lock);
    if (document == nullptr) throw ScriptError(who.first + " has the name, and no document");
    return *document;
  }
  Snapshot<Json>& SnapshotOf(const Who& who) {
    const auto found = snapshots_.find(who);
    if (found == snapshots_.end()) throw ScriptError(who.first + " has not found " + who.second);
    return found->second;
  }

  std::string Act(const Actor& actor, const std::string& verb, Words& words);
  std::string Take(Process& process, const Actor& actor, const Who& who, const std::string& verb,
                   Words& words);
  std::string TakeNext(Process& process, const Actor& actor, const std::string& verb, Words& words);
  std::string TakeAll(Process& process, const Actor& actor, const std::string& verb, Words& words);
  template <class Lock, class Start>
  std::string Wait(const Who& who, const LockOptions& options, const Start& start);
  std::string Use(const Who& who, const std::string& verb, Words& words);
  std::string UseDocument(const Who& who, const std::string& verb, Words& words);
  std::string Without(Process& process, const Who& who, const std::string& verb, Words& words);
  std::string Commit(Process& process, const Actor& actor, Words& words);
  void Enlist(Transaction& transaction, Process& process, const Actor& actor, Words words);
  std::string SendNext(Process& process, Words& words);

  std::string DoAlone(const std::string& verb, Words& words);
  std::string Administer(const std::string& verb, Words& words);
  void Fail(Words& words);
  void Slow(Words& words);
  void During(Words& words);
  std::string Calls();
  std::string StatusText(const std::vector<LockStatus>& locks);

  Backend backend_;
  TimePoint begin_ = backend_.clock->Now();
  std::shared_ptr<FaultyStore> store_ = std::make_shared<FaultyStore>(backend_.store);
  std::shared_ptr<Collection> collection_ = store_->Open("things", {}, kTtl);
  Names names_;
  std::set<Uuid> renewed_;  ///< In the background: their ends are not shown.
  Looker looker_{
      *backend_.store, *collection_, names_, {.queues = false}, [this](const Uuid& id, Ms left) {
        return renewed_.contains(id) ? "" : " until " + MomentText(Now() + left);
      }};
  std::string owner_, group_, last_error_;
  std::vector<std::string> events_;
  bool closing_ = false;
  std::unique_ptr<Process> processes_[2];
  std::map<Who, PendingPtr> pending_;
  std::map<Who, Handle> handles_;
  std::map<Who, Snapshot<Json>> snapshots_;
};

std::string PublicStage::Timed(const std::function<std::string()>& act) {
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

std::string PublicStage::ReplyOf(const Error& error) {
  last_error_ = error.what();
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

LockOptions PublicStage::OptionsOf(const Actor& actor, Words& words) {
  LockOptions options;
  if (const auto ttl = words.LengthAfter("ttl")) options.ttl = *ttl;
  if (words.Flag("forever")) options.wait = kForever;
  if (const auto wait = words.LengthAfter("wait")) options.wait = *wait;
  if (const auto hold = words.LengthAfter("min-hold")) options.min_hold = *hold;
  options.renew = !words.Flag("unrenewed");
  if (words.Flag("shared")) options.mode = LockMode::kShared;
  options.max_holders = words.NumberAfter("limit").value_or(kMaxHolders);
  owner_ = words.After("owner").value_or(actor.name);
  group_ = words.After("group").value_or("");
  options.owner = owner_;
  options.group = group_;
  return options;
}

/// A lock was granted.
template <class Lock>
std::string PublicStage::Keep(const Who& who, Lock lock, const LockOptions& options) {
  const Uuid id = lock.lock_id();
  names_[id] = who.first;
  if (options.renew) renewed_.insert(id);
  std::string reply = "granted v" + std::to_string(lock.fence());
  if constexpr (std::is_same_v<Lock, Locked<Json>>) {
    if (lock.created()) reply += ", created";
    reply += ", has " + lock->dump();
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
void PublicStage::Lost(const Who& who, const Uuid& id) {
  renewed_.erase(id);
  const ReadOp read = looker_.Read(Key(who.second));
  std::string text = who.first + " lost " + who.second;
  if (read.status != OpStatus::kDone || !read.locked) {
    text += ", which is free";
  } else if (read.lock_id != id && read.lock_id != kSharedLockId) {
    text += ", which " + looker_.NameOf(read.lock_id) + " has";
  }
  events_.push_back(text);
}

void PublicStage::Drop(const Who& who) {
  const auto found = handles_.find(who);
  if (found == handles_.end()) return;
  renewed_.erase(found->second.Each([](auto& lock) { return lock.lock_id(); }));
  found->second.on_lost.reset();
  handles_.erase(found);
}

std::string PublicStage::Act(const Actor& actor, const std::string& verb, Words& words) {
  Process& process = ProcessOf(actor);
  if (verb == "close") return process.manager.Close(), "";
  if (verb == "commit") return Commit(process, actor, words);
  if (verb == "send-next") return SendNext(process, words);
  if (verb == "next" || verb == "try-next") return TakeNext(process, actor, verb, words);
  if (verb == "all" || verb == "try-all" || verb == "lock-all") {
    return TakeAll(process, actor, verb, words);
  }
  if (verb == "search") {
    std::vector<std::string> rows;
    for (const Snapshot<Json>& row : process.documents.Find(FilterOf(words))) {
      rows.push_back(std::get<std::string>(row.key().value()) + (row.locked() ? " locked" : ""));
    }
    return rows.empty() ? "none" : Joined(rows);
  }
  const std::string key = words.Take();
  const Who who{actor.name, key};
  if (verb == "says") {
    return last_error_.find(key) == std::string::npos ? "no: " + last_error_ : "yes";
  }
  if (verb == "accepted") return process.inbox.Contains(Key(key)) ? "yes" : "no";
  if (verb == "give-up") {
    const auto pending = pending_.find(who);
    if (pending == pending_.end()) throw ScriptError(actor.name + " does not wait for " + key);
    return pending->second->cancel.emit(boost::asio::cancellation_type::terminal), "";
  }
  looker_.Know(key);
  if (verb == "acquire" || verb == "try" || verb == "lock" || verb == "try-lock") {
    return Take(process, actor, who, verb, words);
  }
  if (verb == "insert" || verb == "find" || verb == "put" || verb == "update" || verb == "delete") {
    return Without(process, who, verb, words);
  }
  return Use(who, verb, words);
}

/// Waits in the background. `start` begins the attempt with a handler.
template <class Lock, class Start>
std::string PublicStage::Wait(const Who& who, const LockOptions& options, const Start& start) {
  const auto pending = std::make_shared<Pending>();
  start(boost::asio::bind_cancellation_slot(
      pending->cancel.slot(),
      [this, who, options, pending](const std::exception_ptr& error, Lock lock) {
        if (closing_) return;
        pending->outcome = Timed([&] {
          if (error) std::rethrow_exception(error);
          if constexpr (std::is_same_v<Lock, Locked<Json>>) {
            if (who.second == "next") return KeepNext(who.first, std::move(lock), options);
          }
          return Keep(who, std::move(lock), options);
        });
      }));
  if (pending->outcome) return *pending->outcome;
  pending_[who] = pending;
  return "waits";
}

std::string PublicStage::Take(Process& process, const Actor& actor, const Who& who,
                              const std::string& verb, Words& words) {
  const bool waits = words.Flag("...");
  const std::optional<Json> body = words.Object();
  const LockOptions options = OptionsOf(actor, words);
  const auto keep = [&](auto lock) {
    return lock ? Keep(who, std::move(*lock), options) : std::string("not now");
  };
  if (verb == "try") return keep(process.locks.TryAcquire(who.second, options));
  if (verb == "acquire" && waits) {
    return Wait<HeldLock>(who, options, [&](auto handler) {
      process.locks.AcquireAsync(who.second, options, std::move(handler));
    });
  }
  if (verb == "acquire") return Keep(who, process.locks.Acquire(who.second, options), options);
  Target<Json> target = body ? Target<Json>(Key(who.second), *body) : Target<Json>(Key(who.second));
  if (verb == "try-lock") return keep(process.documents.TryLock(std::move(target), options));
  if (waits) {
    return Wait<Locked<Json>>(who, options, [&](auto handler) {
      process.documents.LockAsync(std::move(target), options, std::move(handler));
    });
  }
  return Keep(who, process.documents.Lock(std::move(target), options), options);
}

std::string PublicStage::TakeNext(Process& process, const Actor& actor, const std::string& verb,
                                  Words& words) {
  const bool waits = words.Flag("...");
  const LockOptions options = OptionsOf(actor, words);
  const Filter filter = FilterOf(words);
  if (waits) {
    return Wait<Locked<Json>>({actor.name, "next"}, options, [&](auto handler) {
      process.documents.LockNextAsync(filter, options, std::move(handler));
    });
  }
  if (verb == "next") {
    return KeepNext(actor.name, process.documents.LockNext(filter, options), options);
  }
  auto lock = process.documents.TryLockNext(filter, options);
  return lock ? KeepNext(actor.name, std::move(*lock), options) : "not now";
}

std::string PublicStage::TakeAll(Process& process, const Actor& actor, const std::string& verb,
                                 Words& words) {
  const LockOptions options = OptionsOf(actor, words);
  const std::vector<std::string> names = words.Rest();
  for (const std::string& name : names) looker_.Know(name);
  std::vector<std::string> replies;
  const auto keep = [&](auto all) {
    for (auto& lock : all) {
      std::string name;
      if constexpr (std::is_same_v<std::decay_t<decltype(lock)>, HeldLock>) {
        name = lock.name();
      } else {
        name = std::get<std::string>(lock.key().value());
      }
      replies.push_back(name + " " + Keep({actor.name, name}, std::move(lock), options));
    }
    return Joined(replies);
  };
  if (verb == "lock-all") {
    return keep(process.documents.LockAll({names.begin(), names.end()}, options));
  }
  if (verb == "all") return keep(process.locks.AcquireAll(names, options));
  auto all = process.locks.TryAcquireAll(names, options);
  return all ? keep(std::move(*all)) : "not now";
}

/// What needs no lock.
std::string PublicStage::Without(Process& process, const Who& who, const std::string& verb,
                                 Words& words) {
  const Key key(who.second);
  if (verb == "insert") {
    return "v" + std::to_string(process.documents.Insert(key, TakeObject(words)));
  }
  if (verb == "delete") return process.documents.Erase(key) ? "done" : "none";
  if (verb == "update") {
    const Json fields = TakeObject(words);
    process.documents.Update(key, [&](Json& document) { document.merge_patch(fields); });
    return "done";
  }
  if (verb == "put") {
    Snapshot<Json>& snapshot = SnapshotOf(who);
    snapshot->merge_patch(TakeObject(words));
    process.documents.Save(snapshot);
    return "done, v" + std::to_string(snapshot.version());
  }
  auto found = process.documents.Find(key);
  if (!found) return "none";
  std::string reply = "v" + std::to_string(found->version()) + " " + (**found).dump() +
                      (found->locked() ? ", locked" : "");
  snapshots_[who] = std::move(*found);
  return reply;
}

std::string PublicStage::Use(const Who& who, const std::string& verb, Words& words) {
  Handle& handle = HandleOf(who);
  if (verb == "drop") return Drop(who), "";
  if (verb == "held") return handle.Each([](auto& lock) { return lock.held(); }) ? "yes" : "no";
  if (verb == "left") {
    const auto left = handle.Each([](auto& lock) { return lock.Remaining(); });
    return LengthText(std::chrono::ceil<std::chrono::seconds>(left));
  }
  if (verb == "release" || verb == "detach") {
    const Uuid id = handle.Each([](auto& lock) { return lock.lock_id(); });
    handle.Each([&](auto& lock) { verb == "release" ? lock.Release() : lock.Detach(); });
    renewed_.erase(id);
    return "done";
  }
  if (verb != "renew") return UseDocument(who, verb, words);
  auto* const named = std::get_if<HeldLock>(&handle.lock);
  if (named == nullptr) throw ScriptError("a document's lock renews itself");
  named->Renew(words.LengthAfter("ttl").value_or(0ms));
  return "done";
}

std::string PublicStage::UseDocument(const Who& who, const std::string& verb, Words& words) {
  Locked<Json>& document = DocumentOf(who);
  if (verb == "set") return document->merge_patch(TakeObject(words)), "";
  if (verb == "has") return document->dump();
  if (verb == "save") return document.Save(), "done, v" + std::to_string(document.version());
  if (verb == "discard") return document.Discard(), "done";
  if (verb == "erase") return document.Erase(), "done";
  return document.Revert(), "done";
}

/// Adds a part to a transaction: `save 42`.
void PublicStage::Enlist(Transaction& transaction, Process& process, const Actor& actor,
                         Words words) {
  const std::string verb = words.Take();
  if (verb == "send") {
    OutboxMessage message;
    message.payload = TakeObject(words);
    message.order = words.After("order").value_or("");
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
    *snapshot = Merged(*snapshot, TakeObject(words));
    transaction.Save(process.documents, snapshot);
  } else if (verb == "remove") {
    transaction.Erase(process.documents, SnapshotOf(who));
  } else if (auto* const named = std::get_if<HeldLock>(&HandleOf(who).lock);
             named != nullptr && (verb == "keep" || verb == "release")) {
    verb == "keep" ? transaction.Keep(*named) : transaction.Release(*named);
  } else if (named != nullptr) {
    throw ScriptError(Quoted(verb) + " is no part of a transaction for a name");
  } else if (verb == "save") {
    transaction.Save(DocumentOf(who));
  } else if (verb == "erase") {
    transaction.Erase(DocumentOf(who));
  } else if (verb == "release") {
    transaction.Release(DocumentOf(who));
  } else {
    throw ScriptError(Quoted(verb) + " is no part of a transaction");
  }
  words.Finish();
}

std::string PublicStage::Commit(Process& process, const Actor& actor, Words& words) {
  Transaction transaction(process.manager);
  std::vector<std::string> part;
  const auto add = [&] { Enlist(transaction, process, actor, Words(std::exchange(part, {}))); };
  for (std::string& word : words.Rest()) word == ";" ? add() : part.push_back(std::move(word));
  add();
  transaction.Commit();
  looker_.KnowNone();
  return "done";
}

/// Sends the next message of the outbox.
std::string PublicStage::SendNext(Process& process, Words& words) {
  const bool fails = words.Flag("fails");
  std::string sent = "nothing";
  const auto send = [&](const OutboxMessage& message) {
    sent = message.payload.dump();
    if (message.attempts > 1) sent += ", attempt " + std::to_string(message.attempts);
    if (fails) throw std::runtime_error("no");
  };
  process.outbox.SendNext(send);
  return sent;
}

/// Steps without an actor.
std::string PublicStage::DoAlone(const std::string& verb, Words& words) {
  looker_.KnowNone();
  testing::ManualClock& clock = *backend_.clock;
  if (verb == "advance") return clock.Advance(words.TakeLength()), "";
  if (verb == "pause") return clock.Jump(words.TakeLength()), "";
  if (verb == "run") return clock.RunPending(), "";
  if (verb == "calls") return Calls();
  if (verb == "fail") return Fail(words), "";
  if (verb == "heal") return store_->Heal(), "";
  if (verb == "arrive") return std::to_string(store_->ReleaseLate()) + " arrived";
  if (verb == "slow") return Slow(words), "";
  if (verb == "during") return During(words), "";
  return Administer(verb, words);
}

std::string PublicStage::Administer(const std::string& verb, Words& words) {
  Process& process = ProcessOf({});
  const LockAdmin admin = process.locks.Admin();
  if (verb == "purge") {
    return std::to_string(backend_.store->Purge(*collection_, 1000, kBudget)) + " cleared";
  }
  if (verb == "outbox") {
    const OutboxStatus status = process.outbox.Status();
    return std::to_string(status.pending) + " pending" +
           (status.parked > 0 ? ", " + std::to_string(status.parked) + " parked" : "");
  }
  if (verb == "locks") {
    LockFilter filter;
    if (const auto key = words.After("of")) filter.key = Key(*key);
    filter.group = words.After("group").value_or("");
    return StatusText(admin.Status(filter));
  }
  const std::string key = words.Take();
  if (verb == "renew-group") {
    return StatusText(admin.RenewGroup(key, words.LengthAfter("ttl").value_or(0ms)));
  }
  if (verb == "release-group") return StatusText(admin.ReleaseGroup(key));
  looker_.Know(key);
  if (verb == "admin-break") {
    return StatusText({admin.Break(Key(key), words.After("by").value_or(""))});
  }
  return Intervene(verb, *backend_.store, Key(key));
}

std::string PublicStage::StatusText(const std::vector<LockStatus>& locks) {
  std::set<std::string> lines;
  for (const LockStatus& lock : locks) {
    lines.insert(std::get<std::string>(lock.key.value()) + " " + lock.holder.name +
                 (lock.mode == LockMode::kShared ? " shared" : ""));
  }
  return lines.empty() ? "none" : Joined({lines.begin(), lines.end()});
}

void PublicStage::Fail(Words& words) {
  static constexpr std::pair<const char*, Fault::Kind> kHows[] = {
      {"before", Fault::Kind::kErrorBefore},   {"refused", Fault::Kind::kRefused},
      {"unsent", Fault::Kind::kLostBefore},    {"late", Fault::Kind::kLate},
      {"unanswered", Fault::Kind::kLostAfter}, {"throw", Fault::Kind::kThrow}};
  Fault fault;
  fault.op = KindIn(words);
  bool is_known = false;
  for (const auto& [name, how] : kHows) {
    if (!words.Flag(name)) continue;
    fault.kind = how;
    is_known = true;
  }
  if (!is_known) throw ScriptError("the kind of fault is missing");
  fault.skip = words.NumberAfter("skip").value_or(0);
  if (const auto key = words.After("of")) fault.key = Key(*key);
  fault.times = words.Flag("every") ? INT_MAX : words.NumberAfter("next").value_or(1);
  store_->Inject(fault);
}

void PublicStage::Slow(Words& words) {
  if (const auto work = words.LengthAfter("work")) return backend_.clock->DelayWork(*work);
  const OpKind kind = TakeKind(words);
  const std::optional<Ms> by = words.LengthAfter("by");
  if (!by) throw ScriptError("by TIME is missing");
  store_->OnExecute([this, kind, by = *by, once = std::make_shared<bool>(false)](auto ops) {
    if (ops.front()->kind == kind && !std::exchange(*once, true)) backend_.clock->Jump(by);
  });
}

/// Before the store executes the next operation of a kind, another step happens.
void PublicStage::During(Words& words) {
  const OpKind kind = TakeKind(words);
  Command command = CommandOf(words.Rest(), PublicVerbs());
  if (!command.actors.empty()) throw ScriptError("a step within a call has no actor");
  const auto step = std::make_shared<std::optional<Command>>(std::move(command));
  store_->OnExecute([this, kind, step](auto ops) {
    if (ops.front()->kind != kind || !*step) return;
    Command now = *std::exchange(*step, std::nullopt);
    events_.push_back("meanwhile " + now.verb + ": " + DoAlone(now.verb, now.words));
  });
}

/// The operations that the store was asked for since the last time.
std::string PublicStage::Calls() {
  std::vector<std::string> parts;
  for (const auto& [name, kind] : kKinds) {
    if (const int count = store_->Count(kind)) parts.push_back(std::to_string(count) + " " + name);
  }
  store_->Reset();
  return parts.empty() ? "none" : Joined(parts);
}

}  // namespace

std::unique_ptr<Stage> MakePublicStage(Backend backend) {
  return std::make_unique<PublicStage>(std::move(backend));
}

}  // namespace doclock::conformance::script
