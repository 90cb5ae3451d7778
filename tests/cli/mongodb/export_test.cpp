#ifdef DOCLOCK_WITH_MONGODB

#include "cli/harness.h"
#include "mongodb/support/raw_server.h"

namespace doclock::cli_test {
namespace {

using ::testing::HasSubstr;

/// `doclock export` of documents that another program wrote.
class MongodbExportTest : public CliTest {
 protected:
  void SetUp() override { store = "DOCLOCK_STORE=" + database_.uri(); }
  void Insert(const mongodb::Doc& document) { database_.Insert("things", document); }

  mongo_test::Database database_{mongo_test::SetUri()};
};

TEST_F(MongodbExportTest, SaysWhichMembersNoBodyCanHave) {
  mongodb::Doc plain = mongodb::Doc::Of("_id", "a");
  plain.Add("n", 1);
  Insert(plain);
  EXPECT_EQ(Doclock({"export", "things"}).err, "");
  mongodb::Doc odd = mongodb::Doc::Of("_id", "b");
  odd.Add("n", 1).Add("x.y", 2).Add("", 3);
  Insert(odd);
  mongodb::Doc other = mongodb::Doc::Of("_id", "c");
  Insert(other.Add("x.y", 2));
  const Ended ended = Doclock({"export", "things"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr(R"({"body":{"n":1},"key":"b")"));
  EXPECT_EQ(ended.err,
            "doclock: members whose names are empty, begin with '$' or hold '.' are not in the "
            "output: 3 in 2 documents, the first of which is 'b'\n");
}

/// As text JSON has no such string; `list` and `get` show another character in its place.
TEST_F(MongodbExportTest, NamesADocumentWithTextThatIsNotUtf8) {
  mongodb::Doc bad = mongodb::Doc::Of("_id", "bad");
  Insert(bad.Add("inner", mongodb::Doc::Of("text", "\xFF")));
  const Ended ended = Doclock({"export", "things"});
  EXPECT_EQ(ended.code, 65);
  EXPECT_THAT(ended.err, HasSubstr("document 'bad' of 'things' cannot be exported"));
  EXPECT_EQ(Doclock({"import", "things"}, R"({"key":"bad","body":{"n":1}})").code, 0);
  EXPECT_EQ(Doclock({"export", "things"}).code, 0);
}

TEST_F(MongodbExportTest, NamesAMissingCollectionAndCreatesNone) {
  const Ended ended = Doclock({"export", "thing"});
  EXPECT_EQ(ended.code, 66);
  EXPECT_THAT(ended.err, HasSubstr("the store has no collection thing"));
  EXPECT_EQ(Doclock({"collections"}).out, "");
}

}  // namespace
}  // namespace doclock::cli_test

#endif
