#include "mongodb/notifications/stream.h"

#include <condition_variable>
#include <utility>

#include "mongodb/client/pool.h"
#include "mongodb/notifications/lock_events.h"
#include "platform/signals_blocked.h"

namespace doclock::mongodb {
namespace {

/// How late a waiting stream notices that it shall end.
constexpr std::chrono::milliseconds kAwait{200};
/// The pause between a failed stream and the next.
constexpr std::chrono::milliseconds kPause{500};

Doc StreamOptions() {
  Doc options;
  options.Add("maxAwaitTimeMS", std::int64_t{kAwait.count()});
  options.Add("fullDocument", "updateLookup");
  return options;
}

using StreamPtr = Owned<mongoc_change_stream_t>;

}  // namespace

class Stream::Watcher final : public Subscription {
 public:
  Watcher(std::shared_ptr<Stream> stream, std::uint64_t number)
      : stream_(std::move(stream)), number_(number) {}
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() override { stream_->Remove(number_); }

 private:
  std::shared_ptr<Stream> stream_;
  std::uint64_t number_;
};

Stream::~Stream() = default;

std::unique_ptr<Subscription> Stream::Add(HintListener listener) {
  // Destroyed after the guards: its end locks the mutexes.
  std::unique_ptr<Watcher> watcher;
  const std::lock_guard thread_guard(thread_mutex_);
  if (!thread_.joinable() && !Start()) return nullptr;
  const std::uint64_t number = ++next_number_;
  watcher = std::make_unique<Watcher>(shared_from_this(), number);
  const std::lock_guard guard(mutex_);
  watchers_.emplace(number, std::move(listener));
  return watcher;
}

bool Stream::Start() {
  if (!server_->TakeStream()) return false;
  try {
    const platform::SignalsBlocked blocked;
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  } catch (...) {
    server_->GiveStream();
    throw;
  }
  return true;
}

void Stream::Remove(std::uint64_t number) {
  const std::lock_guard thread_guard(thread_mutex_);
  bool last = false;
  {
    const std::lock_guard guard(mutex_);
    watchers_.erase(number);
    last = watchers_.empty();
  }
  if (last && thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
    thread_ = {};
    server_->GiveStream();
  }
}

void Stream::Tell(const LockHint& hint) {
  const std::lock_guard guard(mutex_);
  for (const auto& [number, listener] : watchers_) listener(hint);
}

void Stream::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Follow(stop);
    if (stop.stop_requested()) return;
    Tell({});
    std::mutex mutex;
    std::condition_variable_any pause;
    std::unique_lock lock(mutex);
    pause.wait_for(lock, stop, kPause, [] { return false; });
  }
}

void Stream::Follow(const std::stop_token& stop) {
  const Session session(server_->streams());
  if (session.client() == nullptr) return;
  const CollectionHandle documents =
      HandleOf(session.client(), server_->database(), collection_.name(),
               MONGOC_READ_CONCERN_LEVEL_MAJORITY);
  const StreamPtr stream(
      mongoc_collection_watch(documents.get(),
                              LockEvents(collection_.fields(), server_->instance()).get(),
                              StreamOptions().get()),
      &mongoc_change_stream_destroy);
  bool fresh = true;
  while (!stop.stop_requested()) {
    const bson_t* event = nullptr;
    if (mongoc_change_stream_next(stream.get(), &event)) {
      Tell({KeyHashIn(*event), GrantIn(*event, collection_)});
    } else if (mongoc_change_stream_error_document(stream.get(), nullptr, &event)) {
      return;
    }
    // Releases before the stream was open are in no event.
    if (fresh) Tell({});
    fresh = false;
  }
}

}  // namespace doclock::mongodb
