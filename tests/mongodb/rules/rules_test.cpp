#include "mongodb/rules/documents.h"
#include "mongodb/support/client.h"
#include "mongodb/support/raw_server.h"
#include "plain/play.h"

namespace doclock::mongo_test {
namespace {

using mongodb::Array;
using mongodb::Doc;
using plain_test::Case;
using plain_test::Cases;
using plain_test::Records;

mongo_rules_test::Dialect DialectOf(const Case& one) {
  std::mt19937_64 random(one.seed);
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  return {one_in(3), one_in(3), one_in(3), one_in(6)};
}

struct RulesDatabase {
  Database database{StandaloneUri()};
  std::shared_ptr<Store> store = OpenMongodbStore(database.uri());
};

class MongoRules : private RulesDatabase, public plain_test::StoreAgainstRules {
 protected:
  MongoRules() : StoreAgainstRules(store, store->Open("things", {}, plain_test::kDefaultTtl)) {}

  void Put(Cases& cases) override {
    database.Delete("things", {});
    database.Run(Doc::Of("hello", 1), [&](const bson_t& reply) {
      bson_iter_t time;
      ASSERT_TRUE(mongodb::FindField(reply, "localTime", time));
      server_now_ = bson_iter_date_time(&time);
    });
    Array documents;
    for (const Case& one : cases) {
      if (!one.before) continue;
      documents.Add(
          mongo_rules_test::DocumentOf(one.key, *one.before, DialectOf(one), server_now_));
    }
    if (documents.size() == 0) return;
    database.Insert("things", documents);
  }

  Records Stored(const Cases&) override {
    Records stored;
    Doc command = Doc::Of("find", "things");
    command.Add("batchSize", std::int64_t{1000});
    database.Run(command, [&](const bson_t& reply) {
      bson_t cursor;
      bson_iter_t batch, at;
      mongodb::FindDocument(reply, "cursor", cursor);
      mongodb::FindField(cursor, "firstBatch", batch);
      bson_iter_recurse(&batch, &at);
      while (bson_iter_next(&at)) {
        bson_t doc;
        bson_iter_t id;
        mongodb::DocumentAt(at, doc);
        mongodb::FindField(doc, "_id", id);
        stored.emplace(bson_iter_utf8(&id, nullptr), mongo_rules_test::RecordOf(doc, server_now_));
      }
    });
    return stored;
  }

 private:
  std::int64_t server_now_ = 0;
};

TEST_F(MongoRules, DecideOperations) { DecideOperations(); }
TEST_F(MongoRules, DecideInterventions) { DecideInterventions(); }
TEST_F(MongoRules, DecideTheNextFree) { DecideTheNextFree(); }
TEST_F(MongoRules, DecideWhatAPurgeClears) { DecideWhatAPurgeClears(); }
TEST_F(MongoRules, DecideWhatAListShows) { DecideWhatAListShows(); }

}  // namespace
}  // namespace doclock::mongo_test
