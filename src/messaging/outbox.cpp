#include "doclock/messages.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <set>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "doclock/document.h"
#include "doclock/errors.h"
#include "document/json/bson_size.h"
#include "document/values/key_member.h"
#include "messaging/retry.h"

namespace doclock {
namespace {

using namespace std::chrono_literals;

/// How long Drop waits for a message that is being sent.
constexpr auto kDropWait = 10s;
/// What may be written into a message once it is added: moments, counts and an escaped error.
constexpr std::size_t kRoom = 4096;

/// Every message was added at a moment of the past: what was not is none, and is neither sent nor
/// waited for.
Filter Messages() { return Filter{}.AtLeast("added", 1); }

/// What is due and may be sent, oldest first.
Filter Due() {
  return Messages().Equal("parked", false).Equal("behind", false).Due("due").OrderBy("added");
}

Filter FirstOf(const std::string& order) {
  return Messages().Equal("order", order).OrderBy("position").Limit(1);
}

/// In microseconds since 1970. Rises with each call in this process, so that messages keep the
/// order in which they were added.
std::int64_t NextMoment() {
  static std::atomic<std::int64_t> last = 0;
  std::int64_t before = last;
  std::int64_t moment = 0;
  do {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    moment = std::max<std::int64_t>(now / 1us, before + 1);
  } while (!last.compare_exchange_weak(before, moment));
  return moment;
}

void Require(bool good, const LockingRepository<OutboxMessage>& messages, const Key& id,
             const std::string& why) {
  if (good) return;
  throw DocumentException(
      "doclock: document '" + id.ToString() + "' of '" + messages.name() + "' " + why,
      std::make_shared<const DocumentId>(messages.name(), id));
}

/// So that a mistake in the collection's name changes no other documents.
void CheckIsMessage(const LockingRepository<OutboxMessage>& messages,
                    const OutboxMessage& message) {
  Require(message.added > 0, messages, message.id, "is no message");
}

/// Returns true if it was saved; false if another client is sending the message, or has sent it.
bool TrySave(const LockingRepository<OutboxMessage>& messages, Snapshot<OutboxMessage>& message) {
  try {
    return messages.TrySave(message);
  } catch (const NotFoundException&) {
    return false;
  }
}

/// Has it more levels than these?
bool IsDeeper(const nlohmann::json& value, int levels) {
  if (!value.is_structured()) return false;
  return levels == 0 || std::any_of(value.begin(), value.end(), [=](const nlohmann::json& one) {
           return IsDeeper(one, levels - 1);
         });
}

/// One that could not be saved could not be sent. Looks at the depth first: all else goes as deep
/// as the payload does.
void CheckRoom(const LockingRepository<OutboxMessage>& messages, const OutboxMessage& message) {
  constexpr std::size_t kMost = kMaxBodyBytes - kRoom;
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  const nlohmann::json& payload = message.payload;
  Require(!IsDeeper(payload, kMaxBodyDepth), messages, message.id,
          "is nested deeper than " + std::to_string(kMaxBodyDepth) + " levels");
  const auto size =
      std::max(payload.dump(-1, ' ', false, kReplace).size(), detail::BsonBytes(payload));
  Require(size + message.order.size() <= kMost, messages, message.id,
          "is longer than a message may be, which is " + std::to_string(kMost) +
              " bytes as JSON and as BSON");
}

/// The longest wait of one search, in which a message wakes it that is added or falls due.
constexpr auto kSearch = 5s;
/// How often each process looks for orders whose first message sleeps: one may have died that
/// should have woken it.
constexpr auto kLook = 1min;
/// When a search that failed is repeated: one that always fails leaves time to send.
constexpr auto kLookAgain = 2 * detail::kPause;

/// @throws std::invalid_argument naming the field
void Check(const DispatchOptions& options) {
  detail::Require(options.threads >= 1 && options.threads <= 64,
                  "DispatchOptions::threads must be 1 to 64");
  detail::CheckRetries(options, "DispatchOptions");
}

/// As one string, which is no deeper than a message may be; not all of it, if it would not fit.
nlohmann::json AsText(const nlohmann::json& document) {
  constexpr std::size_t kMost = (kMaxBodyBytes - kRoom) / 2;  // escaped it may be twice as long
  std::string text =
      document.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);  // in ASCII
  text.resize(std::min(text.size(), kMost));
  return text;
}

/// A document that cannot be read, for what is being thrown.
OutboxMessage NoMessage(Key id, const nlohmann::json& document) {
  return {.id = std::move(id),
          .payload = AsText(document),
          .parked = true,
          .error = detail::TextOf(std::current_exception())};
}

}  // namespace

void to_json(nlohmann::json& out, const OutboxMessage& message) {
  out = {
      {"id", KeyToMember(message.id)}, {"payload", message.payload}, {"order", message.order},
      {"position", message.position},  {"due", message.due},         {"attempts", message.attempts},
      {"parked", message.parked},      {"behind", message.behind},   {"added", message.added},
      {"since", message.since},        {"error", message.error}};
}

void from_json(const nlohmann::json& in, OutboxMessage& message) {
  message.id = KeyFromMember(in.at("id"));
  try {
    in.at("payload").get_to(message.payload);
    in.at("order").get_to(message.order);
    in.at("position").get_to(message.position);
    in.at("due").get_to(message.due);
    in.at("attempts").get_to(message.attempts);
    in.at("parked").get_to(message.parked);
    in.at("behind").get_to(message.behind);
    in.at("added").get_to(message.added);
    in.at("since").get_to(message.since);
    in.at("error").get_to(message.error);
  } catch (const nlohmann::json::exception&) {
    message = NoMessage(message.id, in);
  } catch (const std::invalid_argument&) {
    message = NoMessage(message.id, in);
  }
}

nlohmann::json EntityTraits<OutboxMessage>::KeyToJson(const Key& key) { return KeyToMember(key); }

Outbox::Outbox(LockManager manager, const std::string& collection, RepositoryOptions options)
    : messages_(std::move(manager), collection, std::move(options)),
      next_look_(std::make_shared<std::atomic<std::chrono::nanoseconds::rep>>()) {}

void Outbox::Add(Transaction& transaction, OutboxMessage message) const {
  OutboxMessage fresh{.id = std::move(message.id),
                      .payload = std::move(message.payload),
                      .order = std::move(message.order),
                      .position = message.position,
                      .due = message.due,
                      .added = NextMoment()};
  if (fresh.position == 0) fresh.position = fresh.added;
  const std::chrono::sys_time<std::chrono::microseconds> added(
      std::chrono::microseconds(fresh.added));
  fresh.since = std::max(Date(added), fresh.due);
  CheckRoom(messages_, fresh);
  transaction.Insert(messages_, fresh);
  transaction.state()->OnRefused([](const detail::Failure& failure) {
    if (failure.code != Errc::kConflict || !failure.index.empty()) return;
    detail::Failure repeated = failure;
    repeated.index = "id";
    repeated.Throw();
  });
}

bool Outbox::SendNext(const SendMessage& send, const DispatchOptions& options, Duration wait,
                      std::stop_token stop) const {
  if (!send || wait < Duration()) {
    throw std::invalid_argument(
        "doclock: Outbox::SendNext needs a function that sends, and a wait that is not negative");
  }
  Check(options);
  WakeSleepers(stop);
  auto message = messages_.TryLockNext(Due(), {}, stop);
  if (!message && wait > Duration()) {
    message = messages_.TryLockNext(Due(), {.wait = wait}, std::move(stop));
  }
  if (!message) return false;
  if ((*message)->parked) {  // it is no message, see from_json
    message->Release();
  } else if (IsFirst(*message)) {
    Attempt(*message, send, options);
  }
  return true;
}

/// May it be sent now? If not, it is released, and sleeps until WakeFirst.
bool Outbox::IsFirst(Locked<OutboxMessage>& message) const {
  const std::string order = message->order;
  if (order.empty()) return true;
  const auto first = messages_.Find(FirstOf(order));
  if (first.empty() || first.front().key() == message.key()) return true;
  message->behind = true;
  // The earlier one may have been sent since the look.
  WakeAfter(order, [&] { message.Release(); });
  return false;
}

void Outbox::Attempt(Locked<OutboxMessage>& message, const SendMessage& send,
                     const DispatchOptions& options) const {
  int& attempts = message->attempts;
  if (attempts < std::numeric_limits<int>::max()) ++attempts;
  message->behind = false;
  message->parked = attempts >= options.max_attempts;  // once it is unlocked, see Status
  // By the store's clock, which tells what is due.
  const auto after_pause = [this, pause = detail::PauseAfter(attempts, options)] {
    return messages_.manager().StoreTime().time() + pause;
  };
  message->due = after_pause();
  message.Save();  // before it is sent: a message that kills its process counts too
  try {
    send(*message);
  } catch (...) {
    const auto error = std::current_exception();
    message->error = detail::TextOf(error);
    OutboxMessage failed = *message;
    std::exception_ptr unsaved;
    try {
      message->due = after_pause();  // the attempt may have been longer than the pause
      failed.due = message->due;
      message.Release();
    } catch (...) {
      unsaved = std::current_exception();
    }
    if (options.on_failure) options.on_failure(failed, error);
    if (unsaved) std::rethrow_exception(unsaved);
    return;
  }
  Finish(message);
}

void Outbox::Finish(Locked<OutboxMessage>& message) const {
  const std::string order = message->order;
  WakeAfter(order, [&] { message.Erase(); });
}

/// Puts a message to sleep, or deletes the one before it, and wakes the first of their order
/// *afterwards*: so one of the two clients sees what the other did. If it fails, sleepers are
/// looked for next.
void Outbox::WakeAfter(const std::string& order, const std::function<void()>& write) const {
  try {
    write();
    WakeFirst(order);
  } catch (...) {
    next_look_->store(0);
    throw;
  }
}

/// Makes the first message of an order due if it sleeps.
void Outbox::WakeFirst(const std::string& order) const {
  if (order.empty()) return;
  auto first = messages_.Find(FirstOf(order));
  if (first.empty() || !first.front()->behind) return;
  first.front()->behind = false;
  (void)TrySave(messages_, first.front());
}

/// Wakes the first message of each order in which one sleeps. One thread does so at a time.
void Outbox::WakeSleepers(const std::stop_token& stop) const {
  static_cast<void>(messages_.manager());  // throws if this was moved from
  using std::chrono::steady_clock;
  constexpr auto kNever = std::chrono::nanoseconds::max().count();
  auto next = next_look_->load();
  if (steady_clock::now().time_since_epoch().count() < next ||
      !next_look_->compare_exchange_strong(next, kNever))
    return;
  struct Rest {
    ~Rest() {
      // Many orders take long: no more than a tenth of the time.
      const auto end = steady_clock::now();
      const auto pause = std::max(least, 9 * (end - begun));
      auto unchanged = kNever;  // else WakeAfter asks for another look
      next_look.compare_exchange_strong(unchanged, (end + pause).time_since_epoch().count());
    }
    std::atomic<std::chrono::nanoseconds::rep>& next_look;
    steady_clock::duration least = kLookAgain;
    const steady_clock::time_point begun = steady_clock::now();
  };
  Rest rest{*next_look_};
  std::set<std::string> orders;
  std::vector<Snapshot<OutboxMessage>> strangers;
  messages_.ForEach(Messages().Equal("behind", true), [&](Snapshot<OutboxMessage>& message) {
    if (message->parked) {
      strangers.push_back(std::move(message));
    } else {
      orders.insert(message->order);
    }
  });
  for (auto& message : strangers) {  // no message, see from_json: that is stored now
    message->behind = false;
    (void)TrySave(messages_, message);
  }
  for (const std::string& order : orders) {
    if (stop.stop_requested()) return;
    WakeFirst(order);
  }
  rest.least = kLook;
}

OutboxStatus Outbox::Status() const {
  OutboxStatus status;
  const Date now = messages_.manager().StoreTime();
  messages_.ForEach(Filter{}, [&](const Snapshot<OutboxMessage>& message) {
    const bool parked = message->parked && !message.locked();
    ++(parked ? status.parked : status.pending);
    if (parked || message->since <= Date()) return;  // what was not added is no message
    const std::chrono::milliseconds age = now.time() - message->since.time();
    status.oldest = std::max(status.oldest, age);
  });
  return status;
}

std::vector<OutboxMessage> Outbox::Parked() const {
  std::vector<OutboxMessage> parked;
  messages_.ForEach(Filter{}.Free().OrderBy("added"), [&](Snapshot<OutboxMessage>& message) {
    if (message->parked) parked.push_back(std::move(*message));  // also what is no message
  });
  return parked;
}

bool Outbox::Retry(const Key& id) const {
  bool parked = false;
  messages_.Update(id, [&](OutboxMessage& message) {
    CheckIsMessage(messages_, message);
    parked = message.parked;
    if (!parked) return;
    message.parked = false;
    message.attempts = 0;
    message.due = {};
  });
  return parked;
}

std::int64_t Outbox::RetryParked() const {
  std::int64_t retried = 0;
  for (const OutboxMessage& message : Parked()) {
    try {
      if (Retry(message.id)) ++retried;
    } catch (const NotFoundException&) {
      // It was dropped, or retried and sent, meanwhile.
    } catch (const DocumentException&) {
      // It is no message.
    }
  }
  return retried;
}

void Outbox::Drop(const Key& id) const {
  auto message = messages_.Lock(id, {.wait = kDropWait});
  CheckIsMessage(messages_, *message);
  Finish(message);
}

void Outbox::EnsureIndexes() const { messages_.EnsureIndexes({Due(), FirstOf("")}); }

void Outbox::SendUntilStopped(const SendMessage& send, const DispatchOptions& options,
                              const std::stop_token& stop) const noexcept {
  while (!stop.stop_requested()) {
    try {
      SendNext(send, options, kSearch, stop);
    } catch (...) {
      const auto error = std::current_exception();
      if (Classify(error) == Disposition::kStop) return;
      if (options.on_error) options.on_error(error);
      detail::Pause(stop);
    }
  }
}

Dispatcher Outbox::Dispatch(SendMessage send, DispatchOptions options) const {
  if (!send) throw std::invalid_argument("doclock: Outbox::Dispatch needs a function that sends");
  Check(options);
  static_cast<void>(messages_.manager());  // throws if this was moved from
  Dispatcher dispatcher;
  const auto run = [outbox = *this, send = std::move(send), options](const std::stop_token& stop) {
    outbox.SendUntilStopped(send, options, stop);
  };
  for (int i = 0; i < options.threads; ++i) dispatcher.threads_.emplace_back(run);
  return dispatcher;
}

Dispatcher& Dispatcher::operator=(Dispatcher&& other) noexcept {
  Stop();
  threads_ = std::move(other.threads_);
  return *this;
}

void Dispatcher::Stop() noexcept {
  // All before it waits for one: the others would go on sending meanwhile.
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

}  // namespace doclock
