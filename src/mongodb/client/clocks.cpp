#include "mongodb/client/clocks.h"

#include <algorithm>
#include <condition_variable>
#include <optional>
#include <utility>

#include "doclock/time.h"
#include "platform/signals_blocked.h"

namespace doclock::mongodb {
namespace {

using std::chrono::nanoseconds;

/// The fastest answer is the most exact one.
constexpr int kQuestions = 3;
/// `localTime` is cut off to milliseconds.
constexpr nanoseconds kGrain = std::chrono::milliseconds(1);
/// A thread may be woken this late; and `$$NOW` itself is cut off to milliseconds.
constexpr nanoseconds kSlack = std::chrono::milliseconds(1) + std::chrono::microseconds(100);

constexpr std::chrono::seconds kMeasurePause{30};
/// The pause while members are away, or not yet known.
constexpr std::chrono::seconds kMeasureSoon{1};
constexpr std::chrono::milliseconds kMeasureBudget{2000};
constexpr std::chrono::milliseconds kDiscovery{100};

/// The members that the driver knows. It does not list those that it cannot reach, or not yet.
struct Members {
  explicit Members(mongoc_client_t* client)
      : all(mongoc_client_get_server_descriptions(client, &count)) {}
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members() { mongoc_server_descriptions_destroy_all(all, count); }

  /// The number of members that may become the primary, as one of them reports it.
  [[nodiscard]] std::size_t Expected() const {
    std::size_t most = 1;
    for (std::size_t i = 0; i < count; ++i) {
      const bson_t* const hello = mongoc_server_description_hello_response(all[i]);
      most = std::max(most, CountIn(*hello, "hosts"));
    }
    return most;
  }

  std::size_t count = 0;
  mongoc_server_description_t** all;
};

/// A member with priority 0 (as all that are hidden or delayed have) and an arbiter cannot.
bool MayBecomePrimary(const mongoc_server_description_t* member) {
  const bson_t& hello = *mongoc_server_description_hello_response(member);
  return !FlagAt(hello, "passive") && !FlagAt(hello, "hidden") && !FlagAt(hello, "arbiterOnly");
}

/// Does the driver still know a server by this id? It drops those that the primary does not name.
bool IsMember(mongoc_client_t* client, std::uint32_t id) {
  mongoc_server_description_t* const member = mongoc_client_get_server_description(client, id);
  if (member != nullptr) mongoc_server_description_destroy(member);
  return member != nullptr;
}

}  // namespace

std::optional<std::chrono::milliseconds> LocalTime(const Reply& hello) {
  bson_iter_t time;
  const bool there =
      bson_iter_init_find(&time, &hello.doc(), "localTime") && BSON_ITER_HOLDS_DATE_TIME(&time);
  if (!there) return std::nullopt;
  return std::chrono::milliseconds(bson_iter_date_time(&time));
}

std::chrono::system_clock::time_point WallTime(Server& server, std::chrono::milliseconds budget) {
  Reply hello;
  server.Run(server.For(Purpose::kCalls, budget), Doc::Of("hello", 1), Effect::kReads,
             std::chrono::steady_clock::now() + budget, hello);
  const auto time = LocalTime(hello);
  if (time) return std::chrono::sys_time<std::chrono::milliseconds>(*time);
  throw StoreException(Errc::kUnavailable, "doclock: MongoDB: " + hello.text);
}

std::string ClockSkew::Text() const {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(most).count();
  std::string text = "the servers' clocks differ by " + std::to_string(ms) + " ms at most";
  if (!ahead.empty()) text += " (" + ahead + " is ahead of " + behind + ")";
  return text;
}

bool Clocks::Ask(mongoc_client_t* client, std::uint32_t member, Offset& offset) const {
  nanoseconds fastest = nanoseconds::max();
  for (int i = 0; i < kQuestions; ++i) {
    Reply reply;
    bson_error_t error{};
    const auto sent = BootClock::now().time_since_epoch();
    const bool done = mongoc_client_command_simple_with_server_id(
        client, "admin", Doc::Of("hello", 1).get(), nullptr, member, reply.Fresh(), &error);
    const auto answered = BootClock::now().time_since_epoch();
    const auto time = LocalTime(reply);
    if (!done || !time) break;
    if (answered - sent >= fastest) continue;
    fastest = answered - sent;
    // It was read some time between the question and the answer.
    const nanoseconds local = *time;
    offset.least = local - answered;
    offset.most = local + kGrain - sent;
  }
  return fastest != nanoseconds::max();
}

bool Clocks::Measure(std::chrono::milliseconds budget) {
  const auto deadline = BootClock::now() + budget;
  const Session session(server_.main());
  if (session.client() == nullptr) return false;
  const Members members(session.client());
  std::map<std::uint32_t, Offset> found;
  {
    const std::lock_guard guard(mutex_);
    found = offsets_;
  }
  std::erase_if(found, [&](const auto& one) { return !IsMember(session.client(), one.first); });
  std::size_t answers = 0;
  bool all = true;
  for (std::size_t i = 0; i < members.count; ++i) {
    const std::uint32_t member = mongoc_server_description_id(members.all[i]);
    Offset offset;
    if (!MayBecomePrimary(members.all[i])) {
      found.erase(member);
    } else if (BootClock::now() < deadline && Ask(session.client(), member, offset)) {
      offset.member = mongoc_server_description_host(members.all[i])->host_and_port;
      found[member] = std::move(offset);
      ++answers;
    } else {
      all = false;
    }
  }
  all = all && answers >= members.Expected();
  ClockSkew largest;
  for (const auto& [a, ahead] : found) {
    for (const auto& [b, behind] : found) {
      const nanoseconds apart = ahead.most - behind.least;
      if (a != b && apart > largest.most) largest = {apart, ahead.member, behind.member};
    }
  }
  const std::lock_guard guard(mutex_);
  offsets_ = std::move(found);
  skew_ = std::move(largest);
  return all;
}

ClockSkew Clocks::skew() const {
  const std::lock_guard guard(mutex_);
  return skew_;
}

nanoseconds Clocks::margin() const {
  const std::lock_guard guard(mutex_);
  return skew_.most + kSlack;
}

ClockWatch::ClockWatch(std::shared_ptr<Server> server)
    : server_(std::move(server)), clocks_(*server_) {
  const bool complete = Discover();
  const platform::SignalsBlocked blocked;
  thread_ = std::jthread([this, complete](const std::stop_token& stop) { Run(stop, complete); });
}

ClockWatch::~ClockWatch() = default;

/// The driver knows the primary a moment before the other members.
bool ClockWatch::Discover() {
  const auto end = std::chrono::steady_clock::now() + kDiscovery;
  while (!clocks_.Measure(kMeasureBudget)) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

void ClockWatch::Run(const std::stop_token& stop, bool complete) {
  std::mutex mutex;
  std::condition_variable_any pause;
  std::unique_lock lock(mutex);
  const auto stopped = [&] { return stop.stop_requested(); };
  while (!pause.wait_for(lock, stop, complete ? kMeasurePause : kMeasureSoon, stopped)) {
    complete = clocks_.Measure(kMeasureBudget);
  }
}

}  // namespace doclock::mongodb
