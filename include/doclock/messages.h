#pragma once

/// @file
/// Messages that take effect once (Inbox), and messages that are stored with their cause and sent
/// afterwards (Outbox).

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "doclock/document.h"
#include "doclock/entity_traits.h"
#include "doclock/errors.h"
#include "doclock/export.h"
#include "doclock/lock_manager.h"
#include "doclock/locking_repository.h"
#include "doclock/time.h"
#include "doclock/transaction.h"

namespace doclock {

/// A transaction that accepts a message met its id in the Inbox: the message was handled before.
/// Nothing was written, and all locks are still held. Acknowledge the message.
class DOCLOCK_EXPORT DuplicateMessageException : public ConflictException {
 public:
  /// Makes the exception with this text.
  explicit DuplicateMessageException(const std::string& what);
  ~DuplicateMessageException() override;
};

/// The ids of the messages that were handled, in a collection of their own. An id is stored in the
/// transaction that stores the message's effect, so that each message takes effect once, however
/// often it is delivered and however many processes handle it.
///
/// A cheap handle that keeps its LockManager open. Thread-safe.
class DOCLOCK_EXPORT Inbox {
 public:
  /// Opens the collection. Producers whose ids may be equal need an inbox each.
  /// @throws std::invalid_argument for a bad name; StoreException
  explicit Inbox(LockManager manager, const std::string& collection = "inbox");

  /// Stores the id with the transaction. If it is there already, Commit throws
  /// DuplicateMessageException. Its age counts from this call, not from the Commit.
  /// @throws std::invalid_argument for an empty id; what the verbs of Transaction throw;
  /// StoreException: the store is asked for the time
  void Accept(Transaction& transaction, const Key& id) const;
  /// Was the message handled? Use it to save work: false may have changed by the Commit, which
  /// decides. @throws StoreException
  [[nodiscard]] bool Contains(const Key& id) const;
  /// Deletes the ids that were accepted this long ago, or longer; returns how many. A message that
  /// is delivered again afterwards counts as new, so choose a longer time than the broker may take.
  /// The store's clock tells the age. Several processes may call it at once.
  /// @throws std::invalid_argument for a negative time; LockException kBusy if another program
  /// holds the lock of one of them; StoreException, InDoubtException
  std::int64_t Forget(Duration older_than) const;
  /// Creates, unless it exists, the index by which Forget finds what is old. Affects speed only.
  /// @throws StoreException
  void EnsureIndexes() const;

 private:
  LockManager manager_;
  LockingRepository<nlohmann::json> accepted_;
};

/// A message of an Outbox.
struct OutboxMessage {
  /// Tells deliveries of one message from other messages; stays the same. Receivers drop ids that
  /// they have seen.
  Key id = NewUuid();
  /// What the message says.
  nlohmann::json payload = nullptr;
  /// Messages with the same text here are sent one after the other. Empty: no order.
  std::string order = {};
  /// The place within the order, upwards; ties go by id, so in no order at all. 0: Outbox::Add sets
  /// it to `added`. Where machines whose clocks differ add to one order, pass a number that rises
  /// from message to message: Locked::fence() rises from lock to lock only.
  std::int64_t position = 0;
  /// Not sent before this moment. After a failed attempt: when the next one is due.
  Date due = {};

  /// @name Set by the outbox
  /// @{
  int attempts = 0;      ///< How often it was tried, with the present attempt.
  bool parked = false;   ///< It failed too often, or this is its last attempt: Outbox::Retry or
                         ///< Drop decides.
  bool behind = false;   ///< It was due, and waits for an earlier message of its order.
  std::int64_t added{};  ///< When it was added, in microseconds since 1970, by the client's clock.
  Date since{};          ///< When it was added, or first due if that was later.
  std::string error{};   ///< Why the last failed attempt failed. Diagnostic only.
  /// @}
};
/// Writes the message's document: all members, by their names. The id is the key.
DOCLOCK_EXPORT void to_json(nlohmann::json& out, const OutboxMessage& message);
/// Reads a message that to_json wrote. What is no message is read as a parked one, with its text as
/// the payload.
DOCLOCK_EXPORT void from_json(const nlohmann::json& in, OutboxMessage& message);
/// The id may be a key of any type.
template <>
struct DOCLOCK_EXPORT EntityTraits<OutboxMessage> : DefaultEntityTraits<OutboxMessage> {
  /// As KeyToMember.
  static nlohmann::json KeyToJson(const Key& key);
};

/// Sends a message, or throws. It may be called from several threads, and more than once for one
/// message. Give it a timeout of its own: the message's lock is renewed until it returns.
using SendMessage = std::function<void(const OutboxMessage&)>;

/// How messages are sent. Checked when it is used: std::invalid_argument names the field.
struct DispatchOptions {
  /// How many messages a Dispatcher sends at once, 1 to 64.
  int threads = 1;
  /// A message is parked after this many attempts, at least 1.
  int max_attempts = 10;
  /// The pause after the first failed attempt. It doubles with each attempt.
  Duration retry_min = std::chrono::seconds(1);
  /// The longest pause.
  Duration retry_max = std::chrono::minutes(5);
  /// Called after an attempt that failed, with the message as it is stored now (`parked` tells
  /// whether it is given up), and what `send` threw. Also if storing that failed: then the attempt
  /// is stored, with the pause from its beginning on, and its `error` is not. Must not throw.
  std::function<void(const OutboxMessage&, const std::exception_ptr&)> on_failure = {};
  /// Called by a Dispatcher's threads if doclock itself threw, as while the store is away. The
  /// Dispatcher goes on after a pause. Must not throw.
  std::function<void(const std::exception_ptr&)> on_error = {};
};

/// What an outbox holds; for metrics and alerts.
struct OutboxStatus {
  std::int64_t pending = 0;  ///< Messages that wait to be sent.
  std::int64_t parked = 0;   ///< Messages that failed too often, and what is no message.
  /// How long the oldest of those to be sent has waited since it was added, or due, by the store's
  /// clock; 0 without any.
  std::chrono::milliseconds oldest{};
};

class Dispatcher;

/// Messages that are stored in the transaction that makes them necessary, and sent afterwards.
///
/// **At least once.** A message is deleted once it was sent. If the process dies, or its lock is
/// lost, between the two, the message is sent again. Its id is the same then.
///
/// **Retries.** Each attempt is stored before it begins, so one that kills its process counts too.
/// A message that fails is tried again after a growing pause, and parked after max_attempts.
///
/// **Order.** Messages of one `order` are sent one after the other. One that fails or is parked
/// holds up those behind it, until it was sent or dropped. All others go on. (If a process dies
/// between two messages of an order, the second one may wait for up to a minute.) The place in the
/// order is taken at Add, and not by the commit: one that is committed later than one behind it may
/// be sent after it, or at the same time. They are in order if both transactions lock a common
/// document and take its fence for `position`, or if that document holds a counter that the `f` of
/// an Update raises (`.position = ++account.sent`).
///
/// Each message is a document of the collection, whose key is the message's id. Any number of
/// processes may add and send. The store's clock tells what is due, and when a pause ends.
///
/// A cheap handle that keeps its LockManager open. Thread-safe. One that was moved from throws
/// std::logic_error.
class DOCLOCK_EXPORT Outbox {
 public:
  /// Opens the collection. The options' `ttl` is the lease under which a message is sent: that of a
  /// dead process is sent again after it (SQLite on Linux: at once).
  /// @throws std::invalid_argument for a bad name or option; StoreException
  explicit Outbox(LockManager manager, const std::string& collection = "outbox",
                  RepositoryOptions options = {});

  /// Stores the message with the transaction. A message with this id that waits or is parked is a
  /// ConflictException of Commit, whose index() is "id": two messages have one id, or what adds it
  /// is done twice. An Inbox tells the latter apart, if Accept comes before this. @throws what the
  /// verbs of Transaction throw; DocumentException if the message has no room for what is stored of
  /// its attempts: kMaxBodyBytes less 4 KiB
  void Add(Transaction& transaction, OutboxMessage message) const;

  /// Starts threads that send what is due, until the Dispatcher is stopped or destroyed.
  /// @throws std::invalid_argument naming the option; std::system_error if a thread cannot start
  [[nodiscard]] Dispatcher Dispatch(SendMessage send, DispatchOptions options = {}) const;
  /// Tries to send one message that is due, and waits up to `wait` for one. Returns whether there
  /// was one; it was sent, or its attempt failed, or its order holds it up. A document that is no
  /// message is parked, and belongs to no order then. For programs with a loop of their own, and
  /// tests.
  /// @throws std::invalid_argument naming the option; LockException kCancelled if `stop` fires
  /// before it is sent, kLost if the lock ends before it is deleted (it is sent again);
  /// StoreException; InDoubtException
  bool SendNext(const SendMessage& send, const DispatchOptions& options = {}, Duration wait = {},
                std::stop_token stop = {}) const;

  /// Counts the messages. Reads all of them.
  /// @throws DocumentException, StoreException
  [[nodiscard]] OutboxStatus Status() const;
  /// Returns the parked messages, oldest first, without those whose last attempt is under way.
  /// Reads all messages.
  /// @throws DocumentException, StoreException
  [[nodiscard]] std::vector<OutboxMessage> Parked() const;
  /// Makes a parked message due now, with all its attempts. Returns false if it is not parked.
  /// @throws NotFoundException if it is not there; DocumentException if it is no message; what
  /// LockingRepository::Update throws
  bool Retry(const Key& id) const;
  /// Retry() for all of Parked() that are messages; returns how many there were.
  std::int64_t RetryParked() const;
  /// Deletes a message unsent, and lets those behind it go.
  /// @throws NotFoundException if it is not there; DocumentException if it is no message;
  /// LockException kTimedOut if it is being sent for more than ten seconds; StoreException,
  /// InDoubtException
  void Drop(const Key& id) const;
  /// Creates, unless they exist, the indexes by which messages are found. Affects speed only.
  /// @throws StoreException
  void EnsureIndexes() const;

 private:
  void SendUntilStopped(const SendMessage& send, const DispatchOptions& options,
                        const std::stop_token& stop) const noexcept;
  bool IsFirst(Locked<OutboxMessage>& message) const;
  void Attempt(Locked<OutboxMessage>& message, const SendMessage& send,
               const DispatchOptions& options) const;
  void Finish(Locked<OutboxMessage>& message) const;
  void WakeAfter(const std::string& order, const std::function<void()>& write) const;
  void WakeFirst(const std::string& order) const;
  void WakeSleepers(const std::stop_token& stop) const;

  LockingRepository<OutboxMessage> messages_;
  /// When this handle and its copies look next, by the steady clock.
  std::shared_ptr<std::atomic<std::chrono::nanoseconds::rep>> next_look_;
};

/// Threads that send the messages of an Outbox. The destructor stops them.
///
/// A thread ends by itself if the LockManager is closed. Move-only. Not thread-safe.
class DOCLOCK_EXPORT Dispatcher {
 public:
  Dispatcher(Dispatcher&&) noexcept = default;
  /// Stops this one's threads first.
  Dispatcher& operator=(Dispatcher&& other) noexcept;
  /// As Stop.
  ~Dispatcher() { Stop(); }

  /// Ends waits, and lets what is being sent finish: returns once the last `send` has returned and
  /// its outcome is stored. Not to be called by `send`. Idempotent.
  void Stop() noexcept;

 private:
  friend class Outbox;
  Dispatcher() = default;
  std::vector<std::jthread> threads_;
};

}  // namespace doclock
