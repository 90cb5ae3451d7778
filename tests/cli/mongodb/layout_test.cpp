#ifdef DOCLOCK_WITH_MONGODB

#include "cli/harness.h"
#include "doclock/lock_provider.h"
#include "doclock/open_store.h"
#include "mongodb/layouts/mongo_lock_peer.h"
#include "mongodb/layouts/peers.h"
#include "mongodb/support/raw_server.h"

namespace doclock::cli_test {
namespace {

using ::testing::HasSubstr;

/// The command on locks of another library, which a re-creation of that library takes.
class LayoutCommand : public CliTest {
 protected:
  explicit LayoutCommand(const std::string& layout) {
    const std::string& uri = database_.uri();
    const std::string sign = uri.find('?') == uri.npos ? "?" : "&";
    store = "DOCLOCK_STORE=" + uri + sign + "doclockLayout=locks:" + layout;
  }

  mongo_test::Database database_{mongo_test::SetUri()};
};

class MongodbLayoutTest : public LayoutCommand, public ::testing::WithParamInterface<std::string> {
 protected:
  MongodbLayoutTest() : LayoutCommand(GetParam()) { peer_->MakeDocument(job_); }

  const std::unique_ptr<mongo_test::LockPeer> peer_ =
      mongo_test::MakePeer(GetParam(), mongo_test::SetUri(), database_.name(), "locks");
  const std::string job_ = mongo_test::JobIn(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, MongodbLayoutTest, ::testing::ValuesIn(mongo_test::kLayouts),
                         [](const auto& one) { return one.param; });

TEST_P(MongodbLayoutTest, ShowsBreaksAndTakesThem) {
  ASSERT_TRUE(peer_->TryAcquire(job_, std::chrono::minutes(1)));
  EXPECT_THAT(Doclock({"status", "-c", "locks"}).out, HasSubstr(job_));
  EXPECT_EQ(Doclock({"run", "-c", "locks", job_, "--", "true"}).code, 75);
  EXPECT_EQ(Doclock({"break", "-c", "locks", job_}).code, 0);
  EXPECT_EQ(Doclock({"run", "-c", "locks", job_, "--", "true"}).code, 0);
  EXPECT_TRUE(peer_->TryAcquire(job_, std::chrono::minutes(1)));
}

TEST_P(MongodbLayoutTest, SaysWhatALayoutHasNot) {
  const Ended shared = Doclock({"run", "-c", "locks", "--shared", "2", job_, "--", "true"});
  EXPECT_EQ(shared.code, 69);
  EXPECT_THAT(shared.err, HasSubstr(GetParam() + ", which has no shared locks"));
}

TEST_P(MongodbLayoutTest, AMissingLayoutIsAProblemOfDoctor) {
  ASSERT_TRUE(peer_->TryAcquire(job_, std::chrono::minutes(1)));
  store = "DOCLOCK_STORE=" + database_.uri();
  const Ended ended = Doclock({"doctor", "-c", "locks"});
  EXPECT_EQ(ended.code, 78);
  EXPECT_THAT(
      ended.out,
      HasSubstr("problem  collection: doclock: MongoDB: the collection locks holds locks of"));
}

class MongodbMongoLockTest : public LayoutCommand {
 protected:
  MongodbMongoLockTest() : LayoutCommand("mongolock") {}

  mongo_test::RecreatedMongoLock peer_{mongo_test::SetUri(), database_.name()};
};

TEST_F(MongodbMongoLockTest, LooksAtThemWithoutMakingTheIndex) {
  ASSERT_EQ(peer_.XLock("job", "any text"), "done 0");
  mongodb::Doc drop = mongodb::Doc::Of("dropIndexes", "locks");
  database_.Run(drop.Add("index", "*"));
  const auto has_index = [&] {
    bool unique = false;
    database_.Run(mongodb::Doc::Of("listIndexes", "locks"), [&](const bson_t& reply) {
      bson_iter_t iter, found;
      unique = bson_iter_init(&iter, &reply) &&
               bson_iter_find_descendant(&iter, "cursor.firstBatch.1.unique", &found);
    });
    return unique;
  };
  const Ended doctor = Doclock({"doctor", "-c", "locks"});
  EXPECT_EQ(doctor.code, 78);
  EXPECT_THAT(doctor.out, HasSubstr("problem  indexes: the unique index is missing"));
  EXPECT_EQ(Doclock({"status", "-c", "locks"}).code, 0);
  const std::string url = store.substr(store.find('=') + 1);
  const LockProvider locks(LockManager(OpenStore(url, OpenMode::kExisting)), "locks");
  EXPECT_THROW(static_cast<void>(locks.TryAcquire("other")), StoreException);
  EXPECT_FALSE(has_index());
  EXPECT_EQ(Doclock({"run", "-c", "locks", "other", "--", "true"}).code, 0);
  EXPECT_TRUE(has_index());
}

TEST_F(MongodbMongoLockTest, ShowsBreaksAndTakesThem) {
  ASSERT_EQ(peer_.XLock("job", "any text"), "done 0");
  EXPECT_THAT(Doclock({"status", "-c", "locks"}).out, HasSubstr("gopher"));
  EXPECT_EQ(Doclock({"run", "-c", "locks", "job", "--", "true"}).code, 75);
  EXPECT_EQ(Doclock({"break", "-c", "locks", "job"}).code, 0);
  EXPECT_EQ(Doclock({"run", "-c", "locks", "job", "--", "true"}).code, 0);
  ASSERT_EQ(peer_.SLock("job", "theirs"), "done 0");
  const auto share = [&](const char* limit) {
    return Doclock({"run", "-c", "locks", "--shared", limit, "job", "--", "true"}).code;
  };
  EXPECT_EQ(share("1"), 75);
  EXPECT_EQ(share("2"), 0);
}

}  // namespace
}  // namespace doclock::cli_test

#endif
