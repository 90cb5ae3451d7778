#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "doclock/lock_provider.h"
#include "doclock/observer.h"
#include "mongodb/layouts/peers.h"
#include "mongodb/support/client.h"
#include "mongodb/support/monitored_pool.h"

namespace doclock::mongo_test {

inline const Body kNone = Body::FromText("{}");

/// Hands a lock over inside a process, and loses the answer. Again, until the waiter was idle when
/// the lock was released: an attempt under way is not claimed. Returns how often it was handed
/// over.
/// @param lose what loses the answer of the next update
template <class Lose>
int HandOversInDoubt(const std::shared_ptr<Store>& store, MonitoredPool& pool,
                     const std::string& job, const Lose& lose) {
  std::atomic<int> handed_over = 0;
  const auto observer = std::make_shared<LogObserver>(
      [&](LogLevel, std::string_view line) {
        if (line.find("handed over in this process") != line.npos) ++handed_over;
      },
      LogLevel::kDebug);
  const LockManager manager(store, {.observer = observer});
  const LockProvider provider(manager, "locks");
  for (int i = 0; handed_over == 0 && i < 20; ++i) {
    std::optional<HeldLock> first = provider.Acquire(job);
    pool.Take();
    std::jthread second([&] { provider.Acquire(job, {.wait = kForever}).Release(); });
    // Its second attempt: so it stands in the queue.
    for (int sent = 0; sent < 2; sent += pool.TakeCountOfRequests()) std::this_thread::yield();
    // Its answer: each round allows more time for it.
    std::this_thread::sleep_for(i * std::chrono::milliseconds(5));
    const auto lost = lose();
    EXPECT_NO_THROW(first->Release());
    second.join();
  }
  return handed_over;
}

/// The collection "locks" of a layout, one of whose locks doclock and a re-created peer take.
class LayoutTest : public ::testing::Test {
 protected:
  explicit LayoutTest(const std::string& layout) : layout_(layout) { peer_->MakeDocument(job_); }

  /// @param layout empty: none
  static MongodbStoreOptions Naming(const std::string& layout) {
    MongodbStoreOptions options;
    if (!layout.empty()) options.layouts["locks"] = layout;
    return options;
  }
  AcquireOp Take(const Uuid& id = NewUuid(), std::chrono::milliseconds ttl = kTtl) {
    return locks_.Acquire(key_, {.id = id, .insert = kNone, .ttl = ttl});
  }
  std::string Stored() { return database_.Stored({}, "locks"); }
  /// The one document of a lock; nothing if there is none.
  mongo_docs_test::BsonPtr Document() {
    return database_.Find("locks", mongodb::Doc::Of("_id", stored_key_));
  }
  std::int64_t Fence() { return peer_->FenceIn(*Document()); }
  bool IsFree() { return peer_->IsFree(Document().get()); }
  void Change(const std::string& update) {
    database_.Update("locks", mongodb::Doc::Of("_id", stored_key_), FromJson(update));
  }
  /// The lock's lease is over, whichever type its end has.
  void Expire() {
    if (HasDocuments(layout_)) {
      return Change(R"({"$set": {"LockTime": {"$date": {"$numberLong": "1000"}}}})");
    }
    Change(R"([{"$set": {"expiresAt": {"$cond": [{"$eq": [{"$type": "$expiresAt"}, "date"]},
        {"$date": {"$numberLong": "1000"}}, {"$numberLong": "1000"}]}}}])");
  }
  void Delete() { database_.Delete("locks", mongodb::Doc::Of("_id", stored_key_)); }
  /// As it was at the beginning.
  void Reset() {
    Delete();
    peer_->MakeDocument(job_);
  }

  const std::string layout_;
  const MongodbStoreOptions options_ = Naming(layout_);
  Database database_{SetUri()};
  MonitoredPool pool_{WithSocketTimeout(SetUri()), database_.name()};
  Client locks_{OpenMongodbStore(pool_.get(), database_.name(), options_), "locks"};
  const std::unique_ptr<LockPeer> peer_ = MakePeer(layout_, SetUri(), database_.name(), "locks");
  const std::string job_ = JobIn(layout_);
  const Key key_{job_};
  const Key stored_key_ = HasDocuments(layout_) ? Key(LockPeer::IdOf(job_)) : key_;
};

}  // namespace doclock::mongo_test
