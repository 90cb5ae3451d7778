#include <map>
#include <memory>
#include <set>
#include <vector>

#include "conformance/suite/store_conformance.h"
#include "locking/locking_store.h"

// What the program does if a database notices other clients.

namespace doclock::locking {
namespace {

using conformance::Client;
using conformance::FreshId;
using conformance::kTtl;
using conformance::MakeBody;

/// What a database holds, and whom it meets.
struct Shelf {
  std::map<Key, Entry> entries;
  int races = 0;                   ///< So many commits race from now on.
  std::set<Key> held;              ///< Another client's transaction keeps these.
  std::vector<std::size_t> units;  ///< How many documents each unit has loaded.
};

class ShelfUnit final : public Unit {
 public:
  explicit ShelfUnit(Shelf& shelf) : shelf_(shelf) {}

  TimePoint Now() override { return TimePoint(std::chrono::hours(1)); }
  void Load(std::span<Change> documents) override {
    shelf_.units.push_back(documents.size());
    for (Change& document : documents) {
      const bool is_held = shelf_.held.contains(*document.key);
      if (is_held && documents.size() == 1) {
        throw StoreException(Errc::kUnavailable, "it stayed held");
      }
      document.blocked = is_held;
      const auto entry = shelf_.entries.find(*document.key);
      if (!is_held && entry != shelf_.entries.end()) document.was = &entry->second;
    }
  }
  void Scan(Collection&, const Filter&, const std::function<bool(QueryRow&&)>& visit) override {
    for (const auto& [key, entry] : shelf_.entries) {
      if (!visit({key, entry.body, entry.lock.version, entry.lock.born, false})) return;
    }
  }
  std::string ScanLocks(Collection&, const LockQuery&, const std::string&,
                        const std::function<bool(Candidate&&)>& visit) override {
    for (const auto& [key, entry] : shelf_.entries) {
      if (!visit({key, entry.lock, true})) break;
    }
    return {};
  }
  void Commit(std::span<Change> changes) override {
    if (shelf_.races > 0) {
      --shelf_.races;
      throw Raced();
    }
    for (Change& change : changes) {
      if (!change.IsDecided()) continue;
      change.outcome = OpStatus::kDone;
      change.erased ? void(shelf_.entries.erase(*change.key))
                    : void(shelf_.entries.insert_or_assign(*change.key, *change.now));
    }
  }

 private:
  Shelf& shelf_;
};

class ShelfDatabase final : public Database {
 public:
  explicit ShelfDatabase(Shelf& shelf) : shelf_(shelf) {}

  [[nodiscard]] StoreTraits traits() const noexcept override { return {}; }
  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl) override {
    return std::make_shared<Collection>(name, fields, default_ttl);
  }
  std::unique_ptr<Unit> Begin(Access, Deadline) override {
    return std::make_unique<ShelfUnit>(shelf_);
  }
  std::unique_ptr<Subscription> Watch(Collection&,
                                      std::function<void(std::optional<std::size_t>)>) override {
    return nullptr;
  }
  void EnsureIndex(Collection&, const IndexSpec&) override {}

 private:
  Shelf& shelf_;
};

class Races : public ::testing::Test {
 protected:
  SaveOp Insert(const Key& key) {
    SaveOp op(things_.collection(), key);
    op.save = SaveKind::kInsert;
    op.write_id = FreshId();
    op.body = MakeBody({{"n", 1}});
    return op;
  }

  Shelf shelf_;
  const std::shared_ptr<Store> store_ = StoreOn(std::make_unique<ShelfDatabase>(shelf_));
  Client things_{*store_, store_->Open("things", {}, kTtl)};
  const Key a_ = "a", b_ = "b", c_ = "c";
};

TEST_F(Races, OfOneDocumentAreRunAgain) {
  shelf_.races = 3;
  EXPECT_EQ(things_.Insert(a_, {{"n", 1}}).status, OpStatus::kDone);
  EXPECT_EQ(shelf_.units, (std::vector<std::size_t>{1, 1, 1, 1}));
  shelf_.races = 1;
  EXPECT_EQ(things_.AcquireNext(Filter()).key, a_);
}

TEST_F(Races, ThatDoNotEndAreUnavailable) {
  shelf_.races = 1000;
  const SaveOp op = things_.Insert(a_, {{"n", 1}});
  ASSERT_EQ(op.status, OpStatus::kFailed);
  EXPECT_EQ(op.detail->code, Errc::kUnavailable);
  const Client::Next next = things_.AcquireNext(Filter());
  EXPECT_EQ(next.status, OpStatus::kMissing) << "nothing was stored";
}

TEST_F(Races, OfABatchAreRunOneByOne) {
  shelf_.races = 1;
  SaveOp first = Insert(a_), second = Insert(b_);
  things_.Execute({&first, &second});
  EXPECT_EQ(first.status, OpStatus::kDone);
  EXPECT_EQ(second.status, OpStatus::kDone);
  EXPECT_EQ(shelf_.units, (std::vector<std::size_t>{2, 1, 1}));
}

TEST_F(Races, ADocumentThatOthersHoldWaitsAlone) {
  things_.Insert(b_, {});
  shelf_.units.clear();
  shelf_.held = {b_};
  SaveOp first = Insert(a_), second = Insert(b_), third = Insert(c_);
  things_.Execute({&first, &second, &third});
  EXPECT_EQ(first.status, OpStatus::kDone);
  EXPECT_EQ(third.status, OpStatus::kDone);
  ASSERT_EQ(second.status, OpStatus::kFailed);
  EXPECT_EQ(second.detail->code, Errc::kUnavailable);
  EXPECT_EQ(shelf_.units, (std::vector<std::size_t>{3, 1}));
}

TEST_F(Races, OfAPurgeAndOfABreakAreRunAgain) {
  things_.Create(a_, {}, {.ttl = std::chrono::milliseconds(0)});
  shelf_.races = 2;
  EXPECT_EQ(things_.Purge(), 1);
  things_.Acquire(a_);
  shelf_.races = 2;
  things_.Break(a_);
  EXPECT_TRUE(things_.Read(a_).lock_id.is_nil());
}

}  // namespace
}  // namespace doclock::locking
