// What an event of the change stream tells. No server is needed.

#include "mongodb/protocol/lock_events.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "doclock/key.h"
#include "mongodb/bson/wake_id.h"

namespace doclock::mongodb {
namespace {

const LockFieldNames kNames;

Doc Passed(const Uuid& lock_id) {
  Doc fields;
  WakeId(NewUuid(), lock_id).AddTo(fields, kNames.passed);
  return fields;
}

Doc EventOf(const Doc& updated, const Doc& document) {
  Doc event;
  event.Add("documentKey", Doc::Of("_id", "a"));
  event.Add("updateDescription", Doc::Of("updatedFields", updated));
  event.Add("fullDocument", document);
  return event;
}

TEST(LockEvents, AGrantCarriesTheDocument) {
  const Uuid id = NewUuid();
  Doc document;
  document.Add(kNames.id, id).Add("n", 1);
  const auto grant = GrantIn(*EventOf(Passed(id), document).get(), kNames);
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->lock_id, id);
  EXPECT_TRUE(bson_equal(grant->document.get(), document.get()));
}

/// The server logs an update as a replacement where that is shorter.
TEST(LockEvents, AReplacementIsAGrantToo) {
  const Uuid id = NewUuid();
  Doc document = Passed(id);
  document.Add(kNames.id, id);
  const auto grant = GrantIn(*Doc::Of("fullDocument", document).get(), kNames);
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->lock_id, id);
  EXPECT_TRUE(bson_equal(grant->document.get(), document.get()));
}

/// The server looks the document up later than the grant was made.
TEST(LockEvents, ADocumentWithoutTheGrantedLockIsLeftOut) {
  const Uuid id = NewUuid();
  const Doc others[] = {Doc::OfNull(kNames.id), Doc::Of(kNames.id, NewUuid()),
                        Doc::Of(kNames.id, "text"), Doc::Of("n", 1), Doc()};
  for (const Doc& other : others) {
    const auto grant = GrantIn(*EventOf(Passed(id), other).get(), kNames);
    ASSERT_TRUE(grant);
    EXPECT_TRUE(grant->document.empty());
  }
  Doc erased;
  erased.Add("updateDescription", Doc::Of("updatedFields", Passed(id))).AddNull("fullDocument");
  ASSERT_TRUE(GrantIn(*erased.get(), kNames));
}

TEST(LockEvents, OtherEventsTellOfNoGrant) {
  EXPECT_FALSE(GrantIn(*Doc::Of("documentKey", Doc::Of("_id", "a")).get(), kNames));
  // An earlier grant is in the document still.
  EXPECT_FALSE(GrantIn(*EventOf(Doc::OfNull(kNames.id), Passed(NewUuid())).get(), kNames));
  for (const char* const foreign : {"", "a text of thirty-two characters."}) {
    EXPECT_FALSE(GrantIn(*EventOf(Doc::Of(kNames.passed, foreign), Doc()).get(), kNames));
  }
}

TEST(LockEvents, TellTheKey) {
  EXPECT_EQ(KeyHashIn(*EventOf(Doc(), Doc()).get()), Key("a").Hash());
  EXPECT_FALSE(KeyHashIn(*Doc::Of("documentKey", Doc::Of("_id", Doc())).get()));
  EXPECT_FALSE(KeyHashIn(*Doc().get()));
}

}  // namespace
}  // namespace doclock::mongodb
