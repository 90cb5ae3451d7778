#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "batch.h"
#include "store_conformance.h"

namespace doclock::conformance {
namespace {

/// Runs `work` in a thread. What it throws is a failure of the test.
std::jthread StartThread(std::function<void()> work) {
  return std::jthread([work = std::move(work)] {
    try {
      work();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "a thread threw: " << error.what();
    }
  });
}

/// Writes that are stored together.
class Together : Batch {
 public:
  using Batch::Add;
  using Batch::Batch;

  SaveOp& Insert(Client& client, const Key& key, Json tree) {
    return Save(client, SaveKind::kInsert, key, kAnyVersion, {}, MakeBody(std::move(tree)));
  }
  SaveOp& Replace(Client& client, const Key& key, std::int64_t version, const Uuid& born,
                  Json tree) {
    return Save(client, SaveKind::kReplace, key, version, born, MakeBody(std::move(tree)));
  }
  SaveOp& Expect(Client& client, const Key& key, const ReadOp& seen) {
    return Save(client, SaveKind::kExpect, key, seen.result.version, seen.result.born, {});
  }

  /// Were all stored?
  bool Commit() {
    CommitOp commit;
    commit.ops = ops_;
    store_.Commit(commit, kBudget);
    return std::all_of(ops_.begin(), ops_.end(),
                       [](const StoreOp* op) { return op->status == OpStatus::kDone; });
  }

 private:
  SaveOp& Save(Client& client, SaveKind kind, const Key& key, std::int64_t version,
               const Uuid& born, Body body) {
    auto& op = Batch::Add<SaveOp>(client.collection(), key);
    op.request.save = kind;
    op.request.write_id = FreshId();
    op.request.expected = version;
    op.request.born = born;
    op.request.body = std::move(body);
    return op;
  }
};

class Commits : public StoreConformance {
 protected:
  void SetUp() override {
    if (!things_.traits().transactions) GTEST_SKIP() << "this store has no transactions";
  }

  Client others_ = Open("others");
};

TEST_P(Commits, OneOfManyIsOne) {
  Together all(things_);
  for (int i = 0; i < 100; ++i) all.Insert(i % 2 == 0 ? things_ : others_, i, {{"n", i}});
  ASSERT_TRUE(all.Commit());
  EXPECT_EQ(things_.Query(Filter()).size(), 50U);
  EXPECT_EQ(others_.Query(Filter()).size(), 50U);
}

/// Clients that move amounts between the same documents, in any order of them.
TEST_P(Commits, OfManyClientsLoseNothingAndWaitForEachOtherInNoCircle) {
  constexpr int kAccounts = 4, kTransfers = 15, kClients = 4;
  for (int i = 0; i < kAccounts; ++i) things_.Insert(i, {{"amount", 100}});
  const std::shared_ptr<Store> another =
      backend().open_another ? backend().open_another() : backend().store;
  std::atomic<int> most_tries = 100'000;
  const auto transfer = [&](int number) {
    Client client(number % 2 == 0 ? backend().store : another);
    for (int done = 0; done < kTransfers && --most_tries > 0;) {
      const int from = (number + done) % kAccounts, to = (from + 1 + number % 2) % kAccounts;
      const Key from_key = from, to_key = to;
      const ReadOp a = client.Read(from_key), b = client.Read(to_key);
      Together all(client);
      all.Replace(client, from_key, a.result.version, a.result.born,
                  {{"amount", a.result.body.json().at("amount").get<int>() - 1}});
      all.Replace(client, to_key, b.result.version, b.result.born,
                  {{"amount", b.result.body.json().at("amount").get<int>() + 1}});
      if (all.Commit()) ++done;
    }
  };
  std::vector<std::jthread> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(StartThread([&, i] { transfer(i); }));
  clients.clear();
  EXPECT_GT(most_tries, 0);
  int sum = 0;
  std::int64_t versions = 0;
  for (int i = 0; i < kAccounts; ++i) {
    const ReadOp read = things_.Read(i);
    sum += read.result.body.json().at("amount").get<int>();
    versions += read.result.version;
  }
  EXPECT_EQ(sum, 100 * kAccounts);
  EXPECT_EQ(versions, kAccounts + 2 * kTransfers * kClients);
}

/// Clients that leave only if they have read that the other one stays, and then come back: at no
/// moment both are away.
TEST_P(Commits, OfTwoWhoExpectWhatTheOtherWritesOneIsRefused) {
  constexpr int kRounds = 20;
  const std::shared_ptr<Store> another =
      backend().open_another ? backend().open_another() : backend().store;
  const Key names[] = {"a", "b"};
  for (const Key& name : names) things_.Insert(name, {{"on", true}});
  std::atomic<int> most_tries = 100'000;
  const auto leave_and_return = [&](int number) {
    Client client(number == 0 ? backend().store : another);
    const Key &own = names[number], &other = names[1 - number];
    const auto turn = [&](bool on) {
      const ReadOp mine = client.Read(own), theirs = client.Read(other);
      if (!on && !theirs.result.body.json().at("on").get<bool>()) return false;
      Together all(client);
      all.Expect(client, other, theirs);
      all.Replace(client, own, mine.result.version, mine.result.born, {{"on", on}});
      return all.Commit();
    };
    for (int done = 0; done < kRounds && --most_tries > 0;) {
      if (!turn(false)) continue;
      EXPECT_TRUE(client.Read(other).result.body.json().at("on").get<bool>()) << "both are away";
      while (!turn(true) && --most_tries > 0) {
      }
      ++done;
    }
  };
  {
    const std::jthread one = StartThread([&] { leave_and_return(0); });
    const std::jthread two = StartThread([&] { leave_and_return(1); });
  }
  EXPECT_GT(most_tries, 0);
  for (const Key& name : names) {
    const ReadOp read = things_.Read(name);
    EXPECT_EQ(read.result.body.json(), Json({{"on", true}}));
    EXPECT_EQ(read.result.version, 1 + 2 * kRounds) << "what was only expected has no new version";
  }
}

TEST_P(Commits, AnExpectedDocumentTellsNoListener) {
  things_.Insert("a", {{"n", 1}});
  const ReadOp seen = things_.Read("a");
  std::atomic<int> told = 0;
  const auto watch = store().Watch(things_.collection(), [&](const LockHint&) { ++told; });
  Together alone(things_);
  alone.Expect(things_, "a", seen);
  ASSERT_TRUE(alone.Commit());
  EXPECT_EQ(told, 0);
  EXPECT_EQ(things_.Read("a").result.released, seen.result.released);
}

struct Account {
  Client& client;
  Key key;
  Uuid born = {};
  std::int64_t version = 1;
  int amount = 0;
};

/// Of the amounts of accounts that are read at one moment.
int SumOf(std::span<const Account> accounts) {
  std::deque<ReadOp> reads;
  std::vector<StoreOp*> ops;
  for (const Account& account : accounts) {
    ops.push_back(&reads.emplace_back(account.client.collection(), account.key));
  }
  accounts.front().client.ReadTogether(ops);
  int sum = 0;
  for (const ReadOp& read : reads) {
    EXPECT_EQ(read.status, OpStatus::kDone);
    sum += read.result.body.json().at("n").get<int>();
  }
  return sum;
}

/// Moves amounts between accounts, whose sum stays 0, until it is destroyed.
class Transfers {
 public:
  explicit Transfers(std::vector<Account> accounts) : accounts_(std::move(accounts)) {
    for (Account& account : accounts_) {
      account.born = account.client.Insert(account.key, {{"n", 0}}).result.born;
    }
    thread_ = StartThread([this] {
      for (std::size_t i = 0; !over_ && Move(i); ++i) {
      }
    });
  }
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;
  ~Transfers() { over_ = true; }

 private:
  bool Move(std::size_t i) {
    Together both(accounts_.front().client);
    for (const auto& [place, by] : {std::pair{i, -1}, {i + 17, 1}}) {
      Account& account = accounts_[place % accounts_.size()];
      account.amount += by;
      both.Replace(account.client, account.key, account.version++, account.born,
                   {{"n", account.amount}});
    }
    const bool stored = both.Commit();
    EXPECT_TRUE(stored);
    return stored;
  }

  std::vector<Account> accounts_;
  std::atomic<bool> over_ = false;
  std::jthread thread_;
};

/// What moves between accounts is never seen twice, or not at all. More of them than a store looks
/// at in one step.
TEST_P(Commits, NoQueryShowsHalfOfATransfer) {
  constexpr int kAccounts = 40, kQueries = 20;
  std::vector<Account> accounts;
  for (int i = 0; i < kAccounts; ++i) accounts.push_back({things_, i});
  const Transfers transfers(accounts);
  const auto look = [&](const Filter& filter) {
    for (int i = 0; i < kQueries; ++i) {
      int sum = 0;
      const std::vector<QueryRow> rows = things_.Rows(filter);
      for (const QueryRow& row : rows) sum += row.body.json().at("n").get<int>();
      EXPECT_EQ(sum, 0);
      EXPECT_EQ(rows.size(), static_cast<std::size_t>(kAccounts));
    }
  };
  look(Filter());
  look(Filter().OrderBy("n"));
  things_.EnsureIndex({{"n"}});
  look(Filter().OrderByDescending("n"));
}

/// Each transfer is between two collections.
TEST_P(Commits, NoReadShowsHalfOfATransfer) {
  constexpr int kAccounts = 40, kReads = 100;
  const std::shared_ptr<Store> another =
      backend().open_another ? backend().open_another() : backend().store;
  Client their_things(another), their_others(another, "others");
  std::vector<Account> accounts, theirs;
  for (int i = 0; i < kAccounts; ++i) {
    accounts.push_back({i % 2 == 0 ? things_ : others_, i});
    theirs.push_back({i % 2 == 0 ? their_things : their_others, i});
  }
  const Transfers transfers(accounts);
  for (int i = 0; i < kReads; ++i) EXPECT_EQ(SumOf(theirs), 0);
}

INSTANTIATE_TEST_SUITE_P(Stores, Commits, ::testing::ValuesIn(AllStores()), NameOf);

TEST_P(StoreConformance, ACommitIsRefusedWhereThereAreNoTransactions) {
  if (things_.traits().transactions) GTEST_SKIP() << "this store has transactions";
  Together all(things_);
  const SaveOp& insert = all.Insert(things_, "a", {});
  EXPECT_FALSE(all.Commit());
  ASSERT_EQ(insert.status, OpStatus::kFailed);
  EXPECT_EQ(DetailOf(insert).code, Errc::kRefused);
  EXPECT_EQ(things_.Read("a").status, OpStatus::kMissing);
}

}  // namespace
}  // namespace doclock::conformance
