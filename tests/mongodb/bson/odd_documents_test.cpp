/// Documents of another's making, with every type of BSON where this library keeps its own: none is
/// granted that cannot be read, and none disturbs another.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "conformance/suite/store_conformance.h"
#include "doclock/stores/mongodb.h"
#include "mongodb/bson/body_codec.h"
#include "mongodb/support/odd_values.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_docs_test {
namespace {

using conformance::Client;
using conformance::FreshId;

constexpr std::size_t kBatch = 100;

/// The state of a document's lock before one of its fields is made odd.
enum class Base : std::uint8_t { kFree, kExpired, kShared };

void AddBase(mongodb::Doc& doc, Base base, const std::string& but) {
  if (base == Base::kFree) return;
  const LockFieldNames names;
  const auto add = [&](const std::string& name, const OddValue& value) {
    if (name != but) value(doc, name);
  };
  const bool shared = base == Base::kShared;
  add(names.id, shared ? Odd(kSharedLockId) : OddBinary(BSON_SUBTYPE_UUID, std::string(16, '\7')));
  add(names.time, OddDate(1000));
  add(names.ttl, Odd(1));
  add(names.version, Odd(3));
  if (!shared) return;
  mongodb::Doc share;
  share.Add("id", FreshId());
  OddDate(1000)(share, "time");
  share.Add("ttl", 1).Add("owner", mongodb::Doc::Of("name", "reader"));
  mongodb::Doc shares;
  shares.Add("0", share);
  if (names.readers != but) doc.AddArray(names.readers, shares);
}

class OddDocuments : public ::testing::TestWithParam<Base> {
 protected:
  /// Every value in every field, each in a document of its own.
  void Fill() {
    const LockFieldNames names;
    mongodb::Array docs;
    for (const std::string* field : mongodb::LockFields(names)) {
      for (const OddValue& value : OddValues()) {
        mongodb::Doc doc;
        keys_.emplace_back(*field + " " + std::to_string(keys_.size()));
        doc.Add("_id", keys_.back()).Add("n", 1);
        AddBase(doc, GetParam(), *field);
        value(doc, *field);
        before_.emplace(keys_.back(), Copy(*doc.get()));
        docs.Add(doc);
      }
    }
    documents_.Insert("things", docs);
  }
  /// Operations on all documents, in batches. `prepare` fills in each.
  template <class Op, class Prepare>
  std::deque<Op> ExecuteAll(const Prepare& prepare) {
    std::deque<Op> ops;
    std::vector<StoreOp*> batch;
    const auto flush = [&] {
      store_->Execute(batch, conformance::kBudget);
      batch.clear();
    };
    for (const Key& key : keys_) {
      prepare(ops.emplace_back(things_.collection(), key));
      batch.push_back(&ops.back());
      if (batch.size() == kBatch) flush();
    }
    flush();
    return ops;
  }
  /// The documents that reads report as unreadable.
  std::set<Key> FindMalformed() {
    std::set<Key> malformed;
    for (const ReadOp& op : ExecuteAll<ReadOp>([](ReadOp&) {})) {
      if (op.status == OpStatus::kDone) continue;
      EXPECT_TRUE(IsMalformed(op)) << op.key->ToString();
      malformed.insert(*op.key);
    }
    return malformed;
  }
  static bool IsMalformed(const StoreOp& op) {
    return op.status == OpStatus::kFailed && op.detail && op.detail->code == Errc::kMalformed;
  }
  void ExpectUntouched(const std::set<Key>& keys) {
    mongodb::Doc find;
    find.Add("find", "things").Add("batchSize", 100'000);
    const BsonPtr reply = documents_.Run(find);
    bson_iter_t iter, batch;
    ASSERT_TRUE(bson_iter_init(&iter, reply.get()) &&
                bson_iter_find_descendant(&iter, "cursor.firstBatch", &batch) &&
                bson_iter_recurse(&batch, &iter));
    std::size_t seen = 0;
    while (bson_iter_next(&iter)) {
      bson_t doc;
      bson_iter_t id;
      Key key;
      ASSERT_TRUE(mongodb::DocumentAt(iter, doc) && mongodb::FindField(doc, "_id", id) &&
                  mongodb::ReadKey(id, key));
      if (!keys.contains(key)) continue;
      ++seen;
      EXPECT_TRUE(bson_equal(&doc, before_.at(key).get())) << Canonical(doc);
    }
    EXPECT_EQ(seen, keys.size());
  }

  mongo_test::Database documents_;
  std::shared_ptr<Store> store_ = OpenMongodbStore(documents_.uri());
  Client things_{store_};
  std::deque<Key> keys_;
  std::map<Key, BsonPtr> before_;
};

TEST_P(OddDocuments, AreGrantedIfTheyCanBeReadAndOnlyThen) {
  Fill();
  const std::set<Key> malformed = FindMalformed();
  EXPECT_GT(malformed.size(), 100U);
  EXPECT_LT(malformed.size(), keys_.size() - 100);
  const auto grants = ExecuteAll<AcquireOp>([](AcquireOp& op) {
    op.request.grant.lock_id = FreshId();
    op.request.grant.ttl = conformance::kTtl;
  });
  std::map<Key, const AcquireOp*> granted;
  for (const AcquireOp& op : grants) {
    EXPECT_EQ(IsMalformed(op), malformed.contains(*op.key)) << op.key->ToString();
    EXPECT_NE(op.status, OpStatus::kInDoubt) << op.key->ToString();
    if (op.status == OpStatus::kDone) granted.emplace(*op.key, &op);
  }
  EXPECT_GT(granted.size(), 100U);
  for (const ReadOp& op : ExecuteAll<ReadOp>([](ReadOp&) {})) {
    const auto grant = granted.find(*op.key);
    if (grant == granted.end()) continue;
    EXPECT_EQ(op.status, OpStatus::kDone) << op.key->ToString();
    EXPECT_EQ(op.result.lock_id, grant->second->request.grant.lock_id) << op.key->ToString();
    EXPECT_EQ(op.result.version, grant->second->result.version) << op.key->ToString();
  }
  const auto writes = ExecuteAll<WriteOp>([&](WriteOp& op) {
    const auto grant = granted.find(*op.key);
    op.request.lock_id = grant == granted.end() ? FreshId() : grant->second->request.grant.lock_id;
    op.request.expected = grant == granted.end() ? 3 : grant->second->result.version;
  });
  for (const WriteOp& op : writes) {
    const bool done = op.status == OpStatus::kDone;
    EXPECT_EQ(done, granted.contains(*op.key)) << op.key->ToString();
  }
  ExpectUntouched(malformed);
}

/// By themselves, and as shares.
TEST_P(OddDocuments, ThatAreMalformedAreRefusedOneByOne) {
  Fill();
  const std::set<Key> malformed = FindMalformed();
  for (const Key& key : malformed) {
    EXPECT_TRUE(IsMalformed(things_.Acquire(key))) << key.ToString();
    EXPECT_TRUE(IsMalformed(things_.Acquire(key, {.mode = LockMode::kShared}))) << key.ToString();
    try {
      things_.Break(key);
      ADD_FAILURE() << key.ToString();
    } catch (const StoreException& error) {
      EXPECT_EQ(error.errc(), Errc::kMalformed) << key.ToString();
    }
  }
  ExpectUntouched(malformed);
}

TEST_P(OddDocuments, DisturbNoSearchNoListAndNoPurge) {
  Fill();
  const std::set<Key> malformed = FindMalformed();
  EXPECT_EQ(things_.Query(Filter{}).size(), keys_.size());
  std::set<Key> listed;
  for (const LockRow& row : things_.Locks({.unheld = true})) {
    if (row.malformed) listed.insert(row.key);
    EXPECT_GE(row.left.count(), 0);
    EXPECT_GE(row.age.count(), 0);
  }
  EXPECT_EQ(listed, malformed);
  static_cast<void>(things_.Locks());
  static_cast<void>(things_.Purge());
  EXPECT_EQ(things_.Purge(), 0) << "the first one clears all that can be";
  EXPECT_EQ(FindMalformed(), malformed) << "a purge makes none";
  ExpectUntouched(malformed);
  std::set<Key> found;
  for (;;) {
    const Client::Next next = things_.AcquireNext(Filter{});
    if (next.status != OpStatus::kDone) {
      EXPECT_EQ(next.status, OpStatus::kMissing);
      break;
    }
    EXPECT_TRUE(found.insert(next.key).second) << next.key.ToString();
  }
  EXPECT_GT(found.size(), 100U);
  for (const Key& key : found) EXPECT_FALSE(malformed.contains(key)) << key.ToString();
  ExpectUntouched(malformed);
}

INSTANTIATE_TEST_SUITE_P(Lock, OddDocuments,
                         ::testing::Values(Base::kFree, Base::kExpired, Base::kShared),
                         [](const auto& test) {
                           return std::string(test.param == Base::kFree      ? "Free"
                                              : test.param == Base::kExpired ? "Expired"
                                                                             : "Shared");
                         });

/// A grant that a look precedes, and that names what it has seen.
TEST(OddLeases, OfFreeDocumentsAreReplacedAfterAMinHold) {
  mongo_test::Database documents;
  const auto store = OpenMongodbStore(documents.uri());
  Client things{store};
  const LockFieldNames names;
  int count = 0;
  for (const std::string* field : {&names.time, &names.ttl}) {
    for (const OddValue& value : OddValues()) {
      const Key key(++count);
      mongodb::Doc doc = mongodb::Doc::Of("_id", key);
      OddDate(1000)(doc, names.closed);
      value(doc, *field);
      documents.Insert("things", doc);
      const AcquireOp op = things.Acquire(key);
      EXPECT_EQ(op.status, OpStatus::kDone) << Canonical(*documents.Find("things", key));
    }
  }
}

class OddKeys : public ::testing::Test {
 protected:
  /// Returns how many the server took.
  std::int64_t Fill() {
    for (const OddValue& value : OddValues()) {
      mongodb::Doc doc;
      value(doc, "_id");
      doc.Add("n", 1);
      try {
        documents_.Insert("things", doc);
      } catch (const std::runtime_error&) {
        // No array, no regular expression; and what equals another is there already.
      }
    }
    return documents_.Count("things");
  }
  static Uuid OddId(char byte) {
    Uuid id;
    std::fill(id.begin(), id.end(), static_cast<std::uint8_t>(byte));
    return id;
  }
  static mongodb::Doc Held(const std::string& key, const Uuid& id) {
    mongodb::Doc doc;
    doc.Add("_id", std::string_view(key)).Add("lockId", id);
    OddDate(1000)(doc, "lockTime");
    return doc;
  }

  mongo_test::Database documents_;
  std::shared_ptr<Store> store_ = OpenMongodbStore(documents_.uri());
  Client things_{store_};
};

TEST_F(OddKeys, PoisonNoSearch) {
  const std::int64_t all = Fill();
  ASSERT_GT(all, 25);
  const std::vector<Key> known = things_.Query(Filter{});
  EXPECT_GT(known.size(), 8U);
  std::set<Key> found;
  for (;;) {
    const Client::Next next = things_.AcquireNext(Filter{});
    if (next.status != OpStatus::kDone) break;
    EXPECT_TRUE(found.insert(next.key).second) << next.key.ToString();
  }
  // A search for the next one passes over those that are a key's equal in another type.
  std::set<Key> expected(known.begin(), known.end());
  for (const Key& equal : {Key(3), Key("sym")}) {
    EXPECT_EQ(expected.erase(equal), 1U) << equal.ToString();
  }
  EXPECT_EQ(found, expected);
  static_cast<void>(things_.Locks());
  static_cast<void>(things_.Locks({.unheld = true}));
  EXPECT_EQ(things_.Purge(), 0);
  // No other document was locked.
  EXPECT_EQ(
      documents_.Count("things", mongodb::Doc::Of("lockId", mongodb::Doc::Of("$exists", true))),
      static_cast<std::int64_t>(found.size()));
}

/// The server says that 5.0, decimal 5 and 5 are one key, and so are a symbol and a text.
TEST_F(OddKeys, ThatEqualAKeyAreThatKeyInABatchToo) {
  const std::pair<Key, OddValue> odd[] = {{Key(5), OddDecimal("5")},
                                          {Key(6), Odd(6.0)},
                                          {Key(7), OddDecimal("7.00")},
                                          {Key("sym"), OddBy(bson_append_symbol, "sym", 3)},
                                          {Key("$x"), Odd(std::string("$x"))}};
  std::deque<AcquireOp> grants;
  std::vector<StoreOp*> batch;
  for (const auto& [key, value] : odd) {
    mongodb::Doc doc;
    value(doc, "_id");
    documents_.Insert("things", doc);
    batch.push_back(&grants.emplace_back(things_.AcquireOf(key)));
  }
  const Key missing("missing");
  AcquireOp none = things_.AcquireOf(missing);
  batch.push_back(&none);
  things_.Execute(batch);
  EXPECT_EQ(none.status, OpStatus::kMissing);

  std::deque<RenewOp> renewals;
  std::deque<ReadOp> reads;
  std::vector<StoreOp*> renewing, reading;
  for (const AcquireOp& op : grants) {
    EXPECT_EQ(op.status, OpStatus::kDone) << op.key->ToString();
    renewing.push_back(&renewals.emplace_back(things_.RenewOf(*op.key, op.request.grant.lock_id)));
    reading.push_back(&reads.emplace_back(things_.ReadOf(*op.key)));
  }
  // One that is lost makes the store look at all.
  renewals.front().request.lock_id = FreshId();
  things_.Execute(renewing);
  things_.Execute(reading);
  for (std::size_t i = 0; i < grants.size(); ++i) {
    EXPECT_EQ(renewals[i].status, i == 0 ? OpStatus::kLost : OpStatus::kDone);
    EXPECT_EQ(reads[i].result.lock_id, grants[i].request.grant.lock_id);
    const AcquireOp& op = grants[i];
    EXPECT_EQ(things_.Release(*op.key, op).status, OpStatus::kDone);
  }
}

TEST_F(OddKeys, UndefinedIsShownOnceInEveryOrder) {
  for (const auto& value : {OddBy(bson_append_undefined), OddBy(bson_append_null), Odd(1),
                            Odd(std::string("x")), OddBy(bson_append_maxkey)}) {
    mongodb::Doc doc;
    doc.Add("_id", FreshId());
    value(doc, "at");
    documents_.Insert("things", doc);
  }
  EXPECT_EQ(things_.Query(Filter{}.OrderBy("at")).size(), 5U);
  EXPECT_EQ(things_.Query(Filter{}.OrderByDescending("at")).size(), 5U);
  // {"$undefined": true} is what people see, and that is not null.
  EXPECT_EQ(things_.Query(Filter{}.Equal("at", nullptr)).size(), 1U);
  EXPECT_EQ(things_.Query(Filter{}.NotEqual("at", nullptr)).size(), 4U);
}

/// As many documents as one page shows, and more, of one lock id.
TEST_F(OddKeys, ManyLocksOfOneIdAreListedOnceEach) {
  constexpr int kOfOneId = 2300, kOthers = 20;
  const Uuid lowest = OddId('\2'), highest = OddId('\3');
  for (const Uuid& id : {lowest, highest}) {
    mongodb::Array docs;
    for (int i = 0; i < kOfOneId; ++i)
      docs.Add(Held(std::string(1, id.data[0]) + "$" + std::to_string(i), id));
    documents_.Insert("things", docs);
  }
  mongodb::Array docs;
  for (int i = 0; i < kOthers; ++i) docs.Add(Held("o" + std::to_string(i), FreshId()));
  documents_.Insert("things", docs);
  std::map<Key, int> shown;
  std::string after;
  int pages = 0;
  do {
    const LockPage page = store_->ListLocks(things_.collection(), {}, after, conformance::kBudget);
    for (const LockRow& row : page.rows) ++shown[row.key];
    after = page.next;
  } while (!after.empty() && ++pages < 20);
  EXPECT_TRUE(after.empty());
  EXPECT_EQ(shown.size(), 2U * kOfOneId + kOthers);
  for (const auto& [key, times] : shown) EXPECT_EQ(times, 1) << key.ToString();
}

/// A page that ends before a key that is not UTF-8 is not the last.
TEST_F(OddKeys, ThatAreNotUtf8MayBeginAPage) {
  constexpr int kPage = 1000;
  const Uuid id = OddId('\2');
  mongodb::Array docs;
  for (int i = 0; i < kPage; ++i) docs.Add(Held("k" + std::to_string(i), id));
  docs.Add(Held("\xff", id));
  mongodb::Doc last = mongodb::Doc::Of("_id", id);  // of a type that comes after texts
  last.Add("lockId", id);
  OddDate(1000)(last, "lockTime");
  documents_.Insert("things", docs.Add(last));
  for (const bool unheld : {false, true}) {
    const std::vector<LockRow> rows = things_.Locks({.unheld = unheld});
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const LockRow& row) {
      return row.key == Key(id);
    })) << rows.size();
  }
}

TEST_F(OddKeys, OfNoPageAreRefused) {
  for (const char* after : {"x", "f", "f{}", "fAAAA", "xBQAAAAA="}) {
    EXPECT_THROW((void)store_->ListLocks(things_.collection(), {}, after, conformance::kBudget),
                 std::invalid_argument)
        << after;
  }
}

}  // namespace
}  // namespace doclock::mongo_docs_test
