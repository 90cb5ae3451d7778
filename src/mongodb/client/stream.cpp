#include "mongodb/client/stream.h"

#include <condition_variable>

#include "mongodb/bson/wake_id.h"
#include "mongodb/client/collection_handle.h"

namespace doclock::mongodb {
namespace {

/// How late a waiting stream notices that it shall end.
constexpr std::chrono::milliseconds kAwait{200};
/// The pause between a failed stream and the next.
constexpr std::chrono::milliseconds kPause{500};

using StreamPtr = std::unique_ptr<mongoc_change_stream_t, decltype(&mongoc_change_stream_destroy)>;

/// The server logs a change as a replacement where that is shorter, which says no more than the
/// document after it.
Doc ReplacementMatch(const LockFieldNames& names, const Uuid& instance) {
  const std::string after = "fullDocument.";
  Array any;
  any.Add(Doc::OfNull(after + names.id)).Add(Doc::Of(after + names.id, Equals(kSharedLockId)));
  any.Add(Doc::Of(after + names.passed, WakeId::AllOf(instance)));
  Doc match = Doc::Of("operationType", "replace");
  match.AddArray("$or", any.doc());
  return match;
}

/// Matches locks that become null, grants from a queue to this instance, released shares, and
/// deletes. A renewal sets no lock id, and a plain null would match it. The release of one share of
/// many changes only lockReleased: not the lock's id, as a hand-over does, nor the version, as a
/// save does.
Doc StreamPipeline(const LockFieldNames& names, const Uuid& instance) {
  const std::string updated = "updateDescription.updatedFields.";
  Array any;
  any.Add(Doc::Of(updated + names.id, Doc::Of("$type", "null")));
  any.Add(Doc::Of(updated + names.passed, WakeId::AllOf(instance)));
  Doc share;
  share.Add(updated + names.released, Doc::Of("$exists", true));
  share.Add(updated + names.id, Doc::Of("$exists", false));
  share.Add(updated + names.version, Doc::Of("$exists", false));
  any.Add(share).Add(ReplacementMatch(names, instance));
  Doc other;
  other.AddStrings("$in", {"delete", "insert"});
  any.Add(Doc::Of("operationType", other));
  Doc project;
  project.Add("documentKey", 1);
  project.Add(updated + names.passed, 1).Add("fullDocument." + names.passed, 1);
  Array stages;
  stages.Add(Doc::Of("$match", Doc::OfArray("$or", any.doc()))).Add(Doc::Of("$project", project));
  return Doc::OfArray("pipeline", stages.doc());
}

/// The id of the lock that was granted from a queue; nothing if the event tells of none.
std::optional<Uuid> GrantIn(const bson_t& event, const LockFieldNames& names) {
  bson_t update, fields;
  bson_iter_t passed;
  const bool updated = FindDocument(event, "updateDescription", update) &&
                       FindDocument(update, "updatedFields", fields);
  if (!updated && !FindDocument(event, "fullDocument", fields)) return std::nullopt;
  return FindField(fields, names.passed, passed) ? WakeId::LockIdIn(passed) : std::nullopt;
}

std::optional<std::size_t> HashOf(const bson_t& event) {
  bson_t key;
  bson_iter_t id;
  Key known;
  if (!FindDocument(event, "documentKey", key) || !FindField(key, "_id", id) ||
      !ReadKey(id, known)) {
    return std::nullopt;
  }
  return known.Hash();
}

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

std::unique_ptr<Subscription> Stream::Add(Hint hint) {
  // Destroyed after the guards: its end locks the mutexes.
  std::unique_ptr<Watcher> watcher;
  const std::lock_guard thread_guard(thread_mutex_);
  if (!thread_.joinable() && !Start()) return nullptr;
  const std::uint64_t number = ++next_number_;
  watcher = std::make_unique<Watcher>(shared_from_this(), number);
  const std::lock_guard guard(mutex_);
  watchers_.emplace(number, std::move(hint));
  return watcher;
}

bool Stream::Start() {
  if (!server_->TakeStream()) return false;
  try {
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

void Stream::Tell(std::optional<std::size_t> key_hash) {
  const std::lock_guard guard(mutex_);
  for (const auto& [number, hint] : watchers_) hint(key_hash);
}

void Stream::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Follow(stop);
    if (stop.stop_requested()) return;
    Tell(std::nullopt);
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
  Doc options;
  options.Add("maxAwaitTimeMS", std::int64_t{kAwait.count()});
  const StreamPtr stream(
      mongoc_collection_watch(documents.get(),
                              StreamPipeline(collection_.fields(), server_->instance()).get(),
                              options.get()),
      &mongoc_change_stream_destroy);
  bool fresh = true;
  while (!stop.stop_requested()) {
    const bson_t* event = nullptr;
    if (mongoc_change_stream_next(stream.get(), &event)) {
      // First: the waiter that is told looks for it.
      if (const auto grant = GrantIn(*event, collection_.fields())) {
        server_->queues().NoteGrant(*grant);
      }
      Tell(HashOf(*event));
    } else if (mongoc_change_stream_error_document(stream.get(), nullptr, &event)) {
      return;
    }
    // Releases before the stream was open are in no event.
    if (fresh) Tell(std::nullopt);
    fresh = false;
  }
}

}  // namespace doclock::mongodb
