#include "mongo/clocks.h"

#include <algorithm>
#include <string_view>

#include "doclock/clock.h"

namespace doclock::mongo {
namespace {

using std::chrono::nanoseconds;

/// The answer that was fastest says most.
constexpr int kQuestions = 3;
/// `localTime` is cut off to milliseconds.
constexpr nanoseconds kGrain = std::chrono::milliseconds(1);
/// A thread may be woken so late; and `$$NOW` itself is cut off to milliseconds.
constexpr nanoseconds kSlack = std::chrono::milliseconds(1) + std::chrono::microseconds(100);

struct Members {
  explicit Members(mongoc_client_t* client)
      : all(mongoc_client_get_server_descriptions(client, &count)) {}
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members() { mongoc_server_descriptions_destroy_all(all, count); }

  std::size_t count = 0;
  mongoc_server_description_t** all;
};

}  // namespace

bool Clocks::Ask(mongoc_client_t* client, std::uint32_t member, Offset& offset) const {
  nanoseconds fastest = nanoseconds::max();
  for (int i = 0; i < kQuestions; ++i) {
    Reply reply;
    bson_error_t error{};
    const auto sent = BootClock::now().time_since_epoch();
    const bool done = mongoc_client_command_simple_with_server_id(
        client, "admin", Doc::Of("hello", 1).get(), nullptr, member, reply.Fresh(), &error);
    const auto answered = BootClock::now().time_since_epoch();
    bson_iter_t time;
    if (!done || !bson_iter_init_find(&time, &reply.doc(), "localTime") ||
        !BSON_ITER_HOLDS_DATE_TIME(&time)) {
      break;
    }
    if (answered - sent >= fastest) continue;
    fastest = answered - sent;
    // It was read some time between the question and the answer.
    const nanoseconds local = std::chrono::milliseconds(bson_iter_date_time(&time));
    offset = {local - answered, local + kGrain - sent};
  }
  return fastest != nanoseconds::max();
}

bool Clocks::Measure(std::chrono::milliseconds budget) {
  const auto deadline = BootClock::now() + budget;
  const Session session(server_.main());
  if (session.client() == nullptr) return false;
  const Members members(session.client());
  std::map<std::uint32_t, Offset> found;
  bool all = true;
  for (std::size_t i = 0; i < members.count; ++i) {
    const std::uint32_t member = mongoc_server_description_id(members.all[i]);
    Offset offset;
    const std::string_view type = mongoc_server_description_type(members.all[i]);
    if (type != "Unknown" && BootClock::now() < deadline && Ask(session.client(), member, offset)) {
      found[member] = offset;
      continue;
    }
    all = false;
    const std::lock_guard guard(mutex_);
    if (const auto before = offsets_.find(member); before != offsets_.end()) found.insert(*before);
  }
  const std::lock_guard guard(mutex_);
  offsets_ = std::move(found);
  return all;
}

nanoseconds Clocks::skew() const {
  const std::lock_guard guard(mutex_);
  nanoseconds most{};
  for (const auto& [a, mine] : offsets_) {
    for (const auto& [b, theirs] : offsets_) {
      if (a != b) most = std::max(most, mine.most - theirs.least);
    }
  }
  return most;
}

nanoseconds Clocks::margin() const { return skew() + kSlack; }

}  // namespace doclock::mongo
