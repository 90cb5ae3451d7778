// Answers to other questions than those that were asked: none becomes a body, a version or a fence
// of the wrong document.

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "doclock/errors.h"
#include "mongodb/support/answer_mixer.h"
#include "mongodb/support/client.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {
namespace {

class MongoAnswers : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  /// Of the server that takes writes.
  static int Port(const std::string& uri) {
    std::string primary;
    RawServer server(uri);
    server.Run("admin", mongodb::Doc::Of("hello", 1),
               [&](const bson_t& reply) { primary = mongodb::TextAt(reply, "me"); });
    if (primary.empty()) primary = uri.substr(0, uri.find('/', 10));
    return std::stoi(primary.substr(primary.rfind(':') + 1));
  }
  std::string MixedUri() const {
    return "mongodb://" + mixer_.host() + "/" + database_.name() + "?directConnection=true";
  }
  static Body BodyOf(int place) { return Body::FromJson({{"of", place}, {"n", 0}}); }

  static constexpr int kDocuments = 4;
  Database database_{StandaloneUri()};
  AnswerMixer mixer_{Port(StandaloneUri()), GetParam()};
  Client good_{OpenMongodbStore(database_.uri())};
};

TEST_P(MongoAnswers, ToOtherQuestionsAreNotBelieved) {
  std::deque<Key> keys;
  for (int i = 0; i < kDocuments; ++i) {
    const Key& key = keys.emplace_back(i);
    ASSERT_EQ(good_.Save(SaveKind::kInsert, key, kAnyVersion, {}, BodyOf(i)).status,
              OpStatus::kDone);
  }
  Client mixed(OpenMongodbStore(MixedUri(), {.socket_timeout = 500ms}), "things", 2000ms);
  mixer_.Mix(4);
  std::atomic<int> granted = 0, read = 0;
  const auto use = [&](int place) {
    const Key& key = keys[static_cast<std::size_t>(place)];
    std::int64_t highest = 1;
    for (int i = 0; i < 40; ++i) {
      const bool shared = i % 4 == 3;
      const AcquireOp grant = shared ? mixed.Share(key, NewUuid()) : mixed.Acquire(key, NewUuid());
      if (grant.status == OpStatus::kDone) {
        ++granted;
        EXPECT_EQ(grant.result.body.json().at("of"), place);
        EXPECT_GT(grant.result.version, highest) << "a fence was given twice";
        highest = std::max(highest, grant.result.version);
      }
      const ReadOp seen = mixed.Read(key);
      if (seen.status == OpStatus::kDone) {
        ++read;
        EXPECT_EQ(seen.result.body.json().at("of"), place);
        EXPECT_GE(seen.result.version, highest) << "an answer of before was believed";
        highest = std::max(highest, seen.result.version);
      }
      good_.Break(key);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kDocuments; ++i) threads.emplace_back(use, i);
  }
  EXPECT_GT(mixer_.mixed(), 40);
  EXPECT_GT(granted, 0);
  EXPECT_GT(read, 0);
}

TEST_P(MongoAnswers, OfQueriesToOtherQuestionsAreNotBelieved) {
  for (int i = 0; i < kDocuments; ++i) {
    const Key key(i);
    good_.Save(SaveKind::kInsert, key, kAnyVersion, {}, BodyOf(i));
  }
  Client mixed(OpenMongodbStore(MixedUri(), {.socket_timeout = 500ms}), "things", 2000ms);
  mixer_.Mix(3);
  int found = 0;
  for (int i = 0; i < 60; ++i) {
    const int place = i % kDocuments;
    try {
      mixed.store().Query(
          mixed.collection(), Filter{}.Equal("of", place),
          [&](QueryRow&& row) {
            ++found;
            EXPECT_EQ(row.key, Key(place));
            return true;
          },
          2000ms);
    } catch (const Error&) {  // not believed, or not answered
    }
  }
  EXPECT_GT(found, 0);
}

/// Without a version known before, the answer tells the version: that of this release.
TEST_P(MongoAnswers, OfReleasesAndRenewalsToOtherQuestionsAreNotBelieved) {
  std::deque<Key> keys;
  for (int i = 0; i < kDocuments; ++i) {
    good_.Save(SaveKind::kInsert, keys.emplace_back(i), kAnyVersion, {}, BodyOf(i));
  }
  Client mixed(OpenMongodbStore(MixedUri(), {.socket_timeout = 500ms}), "things", 2000ms);
  mixer_.Mix(4);
  std::atomic<int> released = 0, renewed = 0;
  const auto use = [&](int place) {
    const Key& key = keys[static_cast<std::size_t>(place)];
    for (int i = 0; i < 12; ++i) {
      const Uuid id = NewUuid();
      const bool shared = i % 2 == 1;
      const AcquireOp grant = shared ? good_.Share(key, id) : good_.Acquire(key, id);
      ASSERT_EQ(grant.status, OpStatus::kDone);
      RenewOp renewal(mixed.collection(), key);
      renewal.request.lock_id = id;
      renewal.request.ttl = kTtl;
      renewal.request.mode = shared ? LockMode::kShared : LockMode::kExclusive;
      mixed.Execute(renewal);
      renewed += renewal.status == OpStatus::kDone;
      EXPECT_NE(renewal.status, OpStatus::kLost) << "the lock is held";
      WriteOp release(mixed.collection(), key);
      release.request.lock_id = id;
      release.request.mode = renewal.request.mode;
      mixed.Execute(release);
      EXPECT_NE(release.status, OpStatus::kLost) << "the lock was held";
      if (release.status == OpStatus::kDone) {
        ++released;
        EXPECT_EQ(release.result.version, grant.result.version + (shared ? 0 : 1));
        EXPECT_FALSE(good_.Read(key).result.locked);
      }
      if (good_.Read(key).result.locked) good_.Break(key);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kDocuments; ++i) threads.emplace_back(use, i);
  }
  EXPECT_GT(mixer_.mixed(), 10);
  EXPECT_GT(released, 0);
  EXPECT_GT(renewed, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, MongoAnswers, ::testing::Range(1u, 6u));

}  // namespace
}  // namespace doclock::mongo_test
