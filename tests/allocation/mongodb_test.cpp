/// Memory runs out while a MongoDB store works: what is told is what is there.

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "allocation/told.h"
#include "mongodb/support/client.h"
#include "mongodb/support/raw_server.h"

namespace doclock::allocation_test {
namespace {

/// Longer than what a string holds without an allocation.
Body LongBody() { return Body::FromText(R"({"text":"a text that is longer than a short one"})"); }

class MongodbAllocation : public ::testing::Test {
 protected:
  static void Play(const std::function<bool(const std::string& key, std::int64_t n)>& play) {
    std::int64_t n = 1;
    for (bool more = true; more && !HasFailure(); ++n) {
      SCOPED_TRACE("allocation " + std::to_string(n));
      more = play("key " + std::to_string(n), n);
    }
  }

  mongo_test::Database database_{mongo_test::SetUri()};
  mongo_test::Client client_{OpenMongodbStore(database_.uri())};
};

void ExpectNotMissing(const StoreOp& op) {
  EXPECT_NE(op.status, OpStatus::kMissing);
  EXPECT_NE(op.status, OpStatus::kLost);
}

TEST_F(MongodbAllocation, ADocumentThatIsThereIsNotToldAsMissing) {
  Play([&](const std::string& key, std::int64_t n) {
    const Key one(key), two(key + "b");
    client_.Acquire(one, NewUuid(), LongBody());
    client_.Acquire(two, NewUuid(), LongBody());
    ReadOp first(client_.collection(), one), second(client_.collection(), two);
    ReadOp alone(client_.collection(), one);
    StoreOp* const both[] = {&first, &second};
    StoreOp* const single[] = {&alone};
    const bool failed = ExecuteFailing(client_, both, n);
    ExecuteFailing(client_, single, n);
    for (const ReadOp* op : {&first, &second, &alone}) ExpectNotMissing(*op);
    return failed;
  });
}

TEST_F(MongodbAllocation, ALockThatIsHeldIsNotToldAsLost) {
  Play([&](const std::string& key, std::int64_t n) {
    const Key one(key), two(key + "b");
    RenewOp first = client_.RenewOf(one, NewUuid());
    RenewOp second = client_.RenewOf(two, NewUuid());  // of no lock: the store looks at each
    client_.Acquire(one, first.request.lock_id, LongBody());
    StoreOp* const both[] = {&first, &second};
    const bool failed = ExecuteFailing(client_, both, n);
    ExpectNotMissing(first);
    return failed;
  });
}

TEST_F(MongodbAllocation, WritesOfOneCallAreToldAsTheyAre) {
  Play([&](const std::string& key, std::int64_t n) {
    const Key one(key), two(key + "b");
    const AcquireOp held = client_.Acquire(two, NewUuid(), LongBody());
    AcquireOp acquire = client_.AcquireOf(one, {.insert = LongBody()});
    WriteOp release =
        client_.ReleaseOf(two, held.request.grant.lock_id, {.expected = held.result.version});
    StoreOp* const both[] = {&acquire, &release};
    const bool failed = ExecuteFailing(client_, both, n);
    ExpectTold(acquire, client_.Read(one).result.lock_id == acquire.request.grant.lock_id);
    ExpectTold(release, client_.Read(two).result.released == held.request.grant.lock_id);
    return failed;
  });
}

}  // namespace
}  // namespace doclock::allocation_test
