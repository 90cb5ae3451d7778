// What a URI says of reads is for other programs: queries and change streams ask the primary, at
// levels of their own.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "mongodb/support/client.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {
namespace {

class MongodbReads : public ::testing::TestWithParam<const char*> {
 protected:
  Database database_{SetUri()};
  Client client_{OpenMongodbStore(database_.uri() + "&" + GetParam())};
};

TEST_P(MongodbReads, AQueryAsksThePrimary) {
  client_.Save(SaveKind::kInsert, "a", kAnyVersion, {}, Counted(1));
  int found = 0;
  client_.store().Query(
      client_.collection(), Filter(),
      [&](QueryRow&&) {
        ++found;
        return true;
      },
      client_.budget());
  EXPECT_EQ(found, 1);
}

TEST_P(MongodbReads, AReleaseIsHinted) {
  const Key key("a");
  std::atomic<bool> heard = false;
  const auto subscription = client_.store().Watch(client_.collection(), [&](const LockHint& hint) {
    if (hint.hash == key.Hash()) heard = true;
  });
  for (int i = 0; i < 200 && !heard; ++i) {  // the stream may not have begun yet
    const Uuid id = NewUuid();
    client_.Acquire(key, id, Counted(1));
    client_.Release(key, id);
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_TRUE(heard);
}

INSTANTIATE_TEST_SUITE_P(WhateverTheUriSays, MongodbReads,
                         ::testing::Values("readPreference=secondary&readPreferenceTags=dc:nowhere",
                                           "readConcernLevel=local",
                                           "readConcernLevel=linearizable"));

}  // namespace
}  // namespace doclock::mongo_test
