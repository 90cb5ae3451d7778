/// StoreOver records whose transactions fail in ways that no store of the suite does.

#include <gtest/gtest.h>

#include <deque>
#include <stdexcept>
#include <utility>
#include <vector>

#include "conformance/map_records.h"
#include "doclock/store/record_store.h"
#include "doclock/store/store.h"
#include "records/hint_text.h"

namespace doclock::conformance {
namespace {

/// A disk that is full: the commit fails with an exception that is no Error.
class FullDisk : public RecordStore {
 public:
  class FullTransaction final : public Transaction {
   public:
    std::vector<std::optional<Record>> Load(std::span<const RecordKey> keys) override {
      return std::vector<std::optional<Record>>(keys.size());
    }
    void Scan(const std::string&, const Filter&,
              const std::function<bool(const Key&, Record&&)>&) override {}
    void Put(const std::string&, const Key&, const Record&) override {}
    void Erase(const std::string&, const Key&) override {}
    nlohmann::json Settings(const std::string&) override { return nullptr; }
    void PutSettings(const std::string&, const nlohmann::json&) override {}
    void Commit() override { throw std::runtime_error("no space"); }
  };

  std::unique_ptr<Transaction> Begin(Access, std::chrono::milliseconds) override {
    return std::make_unique<FullTransaction>();
  }
  void Create(const std::string&) override {}
};

/// Locks a document that it inserts.
AcquireOp Create(Collection& things, const Key& key) {
  AcquireOp op(things, key);
  op.request.grant.lock_id = NewUuid();
  op.request.grant.ttl = std::chrono::seconds(30);
  op.request.insert = Body::FromJson({{"n", 1}});
  return op;
}

TEST(RecordStores, AnyOtherExceptionLeavesTheOperationInDoubt) {
  const auto store = StoreOver(std::make_shared<FullDisk>());
  const auto things = store->Open("things", {}, std::chrono::seconds(30));
  const Key key("a");
  AcquireOp op = Create(*things, key);
  StoreOp* const batch[] = {&op};
  EXPECT_THROW(store->Execute(batch, std::chrono::seconds(1)), std::runtime_error);
  EXPECT_EQ(op.status, OpStatus::kPending) << "the engine takes it for one in doubt";
}

TEST(RecordStores, TheClockMarginOfTheRecordsIsTheStoresOwn) {
  class JumpyClock final : public FullDisk {
   public:
    [[nodiscard]] RecordTraits traits() const noexcept override {
      return {.clock_margin = std::chrono::milliseconds(250)};
    }
  };
  EXPECT_EQ(StoreOver(std::make_shared<JumpyClock>())->traits().clock_margin,
            std::chrono::milliseconds(250));
  EXPECT_EQ(StoreOver(std::make_shared<FullDisk>())->traits().clock_margin,
            StoreTraits{}.clock_margin);
}

/// Begins no transaction at first, because others are quicker, and loses hints.
class Busy final : public RecordStore {
 public:
  explicit Busy(int races)
      : inner_(MakeMapRecords(std::make_shared<Shelf>(), SystemClock(), Excludes::kOfSameKeys)),
        races_(races) {}

  [[nodiscard]] RecordTraits traits() const noexcept override { return inner_->traits(); }
  std::unique_ptr<Transaction> Begin(Access access, std::chrono::milliseconds budget) override {
    if (races_-- > 0) throw RacedException();
    return inner_->Begin(access, budget);
  }
  void Create(const std::string& collection) override { inner_->Create(collection); }
  void Tell(const std::string&, std::span<const std::string>) override {
    throw StoreException(Errc::kUnavailable, "nobody hears");
  }

 private:
  const std::shared_ptr<RecordStore> inner_;
  int races_;
};

/// Inserts a document by a lock that it clears at once.
OpStatus InsertAndRelease(Store& store,
                          std::chrono::milliseconds budget = std::chrono::seconds(10)) {
  const auto things = store.Open("things", {}, std::chrono::seconds(30));
  const Key key("a");
  AcquireOp acquire = Create(*things, key);
  StoreOp* const first[] = {&acquire};
  store.Execute(first, budget);
  if (acquire.status != OpStatus::kDone) return acquire.status;
  WriteOp release(*things, key);
  release.request.write = WriteKind::kRelease;
  release.request.lock_id = acquire.request.grant.lock_id;
  StoreOp* const second[] = {&release};
  store.Execute(second, budget);
  return release.status;
}

TEST(RecordStores, ATransactionThatOthersForestallIsRunAgain) {
  EXPECT_EQ(InsertAndRelease(*StoreOver(std::make_shared<Busy>(15))), OpStatus::kDone);
  EXPECT_EQ(
      InsertAndRelease(*StoreOver(std::make_shared<Busy>(1000)), std::chrono::milliseconds(20)),
      OpStatus::kFailed);
}

TEST(RecordStores, ABatchThatOthersForestallIsRunOneByOne) {
  const auto store = StoreOver(std::make_shared<Busy>(1));
  const auto things = store->Open("things", {}, std::chrono::seconds(30));
  const Key a("a"), b("b");
  ReadOp one(*things, a), other(*things, b);
  StoreOp* const batch[] = {&one, &other};
  store->Execute(batch, std::chrono::seconds(10));
  EXPECT_EQ(one.status, OpStatus::kMissing);
  EXPECT_EQ(other.status, OpStatus::kMissing);
}

/// Records of a machine that is booted anew, and has been up for so long since.
class Booted final : public RecordStore {
 public:
  Booted(std::shared_ptr<Shelf> shelf, std::string boot)
      : clock_(std::make_shared<Uptime>()),
        inner_(MakeMapRecords(std::move(shelf), clock_, Excludes::kOfSameKeys)),
        boot_(std::move(boot)) {}

  void SetUptime(std::chrono::seconds up) { clock_->now = TimePoint(up); }
  [[nodiscard]] RecordTraits traits() const noexcept override { return inner_->traits(); }
  std::unique_ptr<Transaction> Begin(Access access, std::chrono::milliseconds budget) override {
    return inner_->Begin(access, budget);
  }
  void Create(const std::string& collection) override { inner_->Create(collection); }
  [[nodiscard]] std::string ClockRun() const override { return boot_; }

 private:
  struct Uptime : Clock {
    [[nodiscard]] TimePoint Now() const noexcept override { return now; }
    TimePoint now{};
  };
  const std::shared_ptr<Uptime> clock_;
  const std::shared_ptr<RecordStore> inner_;
  const std::string boot_;
};

/// Leases of an earlier run of the clock count from this one's beginning: so another share may end
/// last than in that run.
TEST(RecordStores, AShareOfAnEarlierBootKeepsWritersOutUntilItEnds) {
  using std::chrono::seconds;
  const auto shelf = std::make_shared<Shelf>();
  const Key key("a");
  const auto acquire = [&](const std::shared_ptr<Booted>& records, LockMode mode, seconds ttl) {
    const auto store = StoreOver(records);
    const auto things = store->Open("things", {}, seconds(30));
    AcquireOp op = Create(*things, key);
    op.request.grant.mode = mode;
    op.request.grant.max_holders = kMaxHolders;
    op.request.grant.ttl = ttl;
    StoreOp* const batch[] = {&op};
    store->Execute(batch, seconds(10));
    return op.status;
  };
  const auto before = std::make_shared<Booted>(shelf, "before");
  EXPECT_EQ(acquire(before, LockMode::kShared, seconds(60)), OpStatus::kDone);
  before->SetUptime(seconds(20));
  EXPECT_EQ(acquire(before, LockMode::kShared, seconds(50)), OpStatus::kDone);
  const auto after = std::make_shared<Booted>(shelf, "after");
  after->SetUptime(seconds(55));
  EXPECT_EQ(acquire(after, LockMode::kExclusive, seconds(1)), OpStatus::kBusy);
  after->SetUptime(seconds(60));
  EXPECT_EQ(acquire(after, LockMode::kExclusive, seconds(1)), OpStatus::kDone);
}

TEST(RecordStores, ABatchIsLoadedAtOnceButForCollectionsThatAreLocked) {
  const auto shelf = std::make_shared<Shelf>();
  const auto store = StoreOver(MakeMapRecords(shelf, SystemClock(), Excludes::kOfSameKeys));
  std::vector<Client> clients;
  for (const char* name : {"a", "b", "c"}) {
    clients.emplace_back(store, name);
  }
  const Key key("1");
  const auto loads = [&] {
    shelf->loads = 0;
    std::deque<ReadOp> reads;
    std::deque<SaveOp> inserts;
    std::vector<StoreOp*> read, insert;
    for (Client& client : clients) {
      read.push_back(&reads.emplace_back(client.collection(), key));
      SaveOp& op = inserts.emplace_back(client.collection(), key);
      op.request.save = SaveKind::kInsert;
      op.request.write_id = FreshId();
      op.request.body = MakeBody({{"n", 1}});
      insert.push_back(&op);
    }
    clients.front().ReadTogether(read);
    const int for_reads = shelf->loads.exchange(0);
    clients.front().Execute(insert);
    return std::pair(for_reads, shelf->loads.load());
  };
  EXPECT_EQ(loads(), std::pair(1, 1));
  clients[1].EnsureIndex({{"n"}, true});
  EXPECT_EQ(loads(), std::pair(1, 2));
}

TEST(RecordStores, AUniqueIndexLooksForTheSameValuesAlone) {
  const auto shelf = std::make_shared<Shelf>();
  const auto store = StoreOver(MakeMapRecords(shelf, SystemClock()));
  Client things(store);
  things.EnsureIndex({{"a.b", "c"}, true});
  for (int i = 0; i < 10; ++i) things.Insert(i, {{"a", {{"b", i}}}, {"c", "same"}});
  EXPECT_EQ(shelf->shown, 0);
  EXPECT_EQ(things.Insert("again", {{"a", {{"b", 3}}}, {"c", "same"}}).status, OpStatus::kConflict);
  EXPECT_EQ(shelf->shown, 1);
  EXPECT_EQ(things.Insert("none", {{"a", {{"b", 3}}}}).status, OpStatus::kDone);
  EXPECT_EQ(shelf->shown, 1);
  // No filter compares a list: what has the other value is looked at.
  const Json list{{"a", {{"b", {1, 2}}}}, {"c", "same"}};
  EXPECT_EQ(things.Insert("list", list).status, OpStatus::kDone);
  EXPECT_EQ(shelf->shown, 11);
  EXPECT_EQ(things.Insert("same list", list).status, OpStatus::kConflict);
}

TEST(RecordStores, AHintThatIsLostLeavesTheResult) {
  EXPECT_EQ(InsertAndRelease(*StoreOver(std::make_shared<Busy>(0))), OpStatus::kDone);
}

TEST(RecordStores, AHintIsItsText) {
  using records::HintFromText;
  using records::HintToText;
  const LockHint any = HintFromText(HintToText({}));
  EXPECT_FALSE(any.hash || any.grant);
  const LockHint freed = HintFromText(HintToText({Key("a").Hash()}));
  EXPECT_EQ(freed.hash, Key("a").Hash());
  EXPECT_FALSE(freed.grant);
  const GrantSeen grant{NewUuid(), std::int64_t{1} << 62, NewUuid(), Body::FromJson({{"n", 1}})};
  const std::string text = HintToText({SIZE_MAX, grant});
  EXPECT_LE(text.size(), 200U);
  const LockHint granted = HintFromText(text);
  EXPECT_EQ(granted.hash, SIZE_MAX);
  ASSERT_TRUE(granted.grant);
  EXPECT_EQ(granted.grant->lock_id, grant.lock_id);
  EXPECT_EQ(granted.grant->version, grant.version);
  EXPECT_EQ(granted.grant->born, grant.born);
  EXPECT_FALSE(granted.grant->body);
  for (const char* const other : {"", "freed", "{\"hash\":\"a\"}", "{\"id\":\"\"}", "[1]", "1"}) {
    const LockHint hint = HintFromText(other);
    EXPECT_FALSE(hint.hash || hint.grant) << other;
  }
}

}  // namespace
}  // namespace doclock::conformance
