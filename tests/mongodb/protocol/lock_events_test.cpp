// What an event of the change stream tells. No server is needed.

#include "mongodb/notifications/lock_events.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "doclock/document.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {
namespace {

const LockFieldNames kNames;
const Collection kThings("things", kNames, std::chrono::seconds(30));

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

/// A locked document.
Doc Locked(const Uuid& id, const Uuid& born) {
  Doc document;
  document.Add("_id", "a").Add("n", 1).Add(kNames.id, id).Add(kNames.born, born);
  document.Add(kNames.version, std::int64_t{7});
  bson_append_date_time(document.get(), kNames.time.c_str(), -1, 1);
  return document;
}

void ExpectWhole(const std::optional<GrantSeen>& grant, const Uuid& id, const Uuid& born) {
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->lock_id, id);
  EXPECT_EQ(grant->version, 7);
  EXPECT_EQ(grant->born, born);
  ASSERT_TRUE(grant->body);
  EXPECT_EQ(grant->body.text(), R"({"n":1})");
}

TEST(LockEvents, AGrantCarriesTheDocument) {
  const Uuid id = NewUuid(), born = NewUuid();
  ExpectWhole(GrantIn(*EventOf(Passed(id), Locked(id, born)).get(), kThings), id, born);
}

/// The server logs an update as a replacement where that is shorter.
TEST(LockEvents, AReplacementIsAGrantToo) {
  const Uuid id = NewUuid(), born = NewUuid();
  Doc document = Locked(id, born);
  bson_concat(document.get(), Passed(id).get());
  ExpectWhole(GrantIn(*Doc::Of("fullDocument", document).get(), kThings), id, born);
}

/// The server looks the document up later than the grant was made.
TEST(LockEvents, ADocumentWithoutTheGrantedLockIsLeftOut) {
  const Uuid id = NewUuid();
  const Doc others[] = {Doc::OfNull(kNames.id), Doc::Of(kNames.id, NewUuid()),
                        Doc::Of(kNames.id, "text"), Doc::Of("n", 1), Doc()};
  for (const Doc& other : others) {
    const auto grant = GrantIn(*EventOf(Passed(id), other).get(), kThings);
    ASSERT_TRUE(grant);
    EXPECT_FALSE(grant->body);
  }
  Doc erased;
  erased.Add("updateDescription", Doc::Of("updatedFields", Passed(id))).AddNull("fullDocument");
  ASSERT_TRUE(GrantIn(*erased.get(), kThings));
}

TEST(LockEvents, OtherEventsTellOfNoGrant) {
  EXPECT_FALSE(GrantIn(*Doc::Of("documentKey", Doc::Of("_id", "a")).get(), kThings));
  // An earlier grant is in the document still.
  EXPECT_FALSE(GrantIn(*EventOf(Doc::OfNull(kNames.id), Passed(NewUuid())).get(), kThings));
  for (const char* const foreign : {"", "a text of thirty-two characters."}) {
    EXPECT_FALSE(GrantIn(*EventOf(Doc::Of(kNames.passed, foreign), Doc()).get(), kThings));
  }
}

TEST(LockEvents, TellTheKey) {
  EXPECT_EQ(KeyHashIn(*EventOf(Doc(), Doc()).get()), Key("a").Hash());
  EXPECT_FALSE(KeyHashIn(*Doc::Of("documentKey", Doc::Of("_id", Doc())).get()));
  EXPECT_FALSE(KeyHashIn(*Doc().get()));
}

}  // namespace
}  // namespace doclock::mongodb
