#include <climits>

#include "doclock/inbox.h"
#include "repository/support/harness.h"

// Which document an exception is about, as values.

namespace doclock {
namespace {

class DocumentOfErrorTest : public RepositoryTest {
 protected:
  struct Named {
    Errc code;
    std::string document;  ///< "collection/key"; empty: none is named.
    friend bool operator==(const Named&, const Named&) = default;
    friend void PrintTo(const Named& named, std::ostream* out) {
      *out << make_error_code(named.code).message() << ": " << named.document;
    }
  };
  template <class Act>
  static Named Thrown(const Act& act) {
    try {
      static_cast<void>(act());
    } catch (const Error& error) {
      const auto& document = error.document();
      return {error.errc(), document ? document->collection + "/" + document->key.ToString() : ""};
    }
    return {};
  }
  /// From now on.
  void Strike(Fault::Kind kind, OpKind op) {
    store->Inject({.kind = kind, .op = op, .times = INT_MAX});
  }
};

TEST_P(DocumentOfErrorTest, ARefusedLockNamesIt) {
  sagas.Insert(Saga{"42"});
  auto held = sagas.Lock("42");
  EXPECT_EQ(Thrown([&] { return sagas.Lock("42", {.wait = 0s}); }),
            (Named{Errc::kBusy, "sagas/42"}));
  EXPECT_EQ(Thrown([&] { return sagas.Lock("42", {.wait = 1s}); }),
            (Named{Errc::kTimedOut, "sagas/42"}));
  EXPECT_EQ(Thrown([&] { return sagas.Lock("43"); }), (Named{Errc::kNotFound, "sagas/43"}));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(Thrown([&] { return sagas.Lock("42", {.wait = 1s}, stop.get_token()); }),
            (Named{Errc::kCancelled, "sagas/42"}));
  EXPECT_EQ(Thrown([&] { return Get(sagas.LockAsync("42", {.wait = 1s})); }),
            (Named{Errc::kTimedOut, "sagas/42"}));
  Strike(Fault::Kind::kErrorBefore, OpKind::kAcquire);
  EXPECT_EQ(Thrown([&] { return sagas.Lock("44", {.wait = 0s}); }),
            (Named{Errc::kUnavailable, "sagas/44"}));
}

TEST_P(DocumentOfErrorTest, ARefusedWriteNamesIt) {
  sagas.Insert(Saga{"42"});
  EXPECT_EQ(Thrown([&] { sagas.Insert(Saga{"42"}); }), (Named{Errc::kConflict, "sagas/42"}));
  auto held = sagas.Lock("42");
  Saga carried = *held;
  StealLock(*store, "sagas", "42");
  EXPECT_EQ(Thrown([&] { held.Save(); }), (Named{Errc::kLost, "sagas/42"}));
  EXPECT_EQ(Thrown([&] { held.Save(); }), (Named{Errc::kLost, "sagas/42"})) << "it is known";
  Strike(Fault::Kind::kLostBefore, OpKind::kSave);
  Strike(Fault::Kind::kErrorBefore, OpKind::kRead);
  EXPECT_EQ(Thrown([&] { sagas.Insert(Saga{"43"}); }), (Named{Errc::kInDoubt, "sagas/43"}));
}

TEST_P(DocumentOfErrorTest, ADocumentThatCannotBeReadOrStoredIsNamed) {
  Put("bad", {{"step", 7}});
  EXPECT_EQ(Thrown([&] { return sagas.Find("bad"); }), (Named{Errc::kDocument, "sagas/bad"}));
  const LockingRepository<json> raw(manager, "sagas");
  EXPECT_EQ(Thrown([&] {
              raw.Insert("worse", {{"$x", 1}});
            }),
            (Named{Errc::kDocument, "sagas/worse"}));
}

TEST_P(DocumentOfErrorTest, WhatIsAboutNoDocumentNamesNone) {
  EXPECT_EQ(Thrown([&] { return sagas.LockNext(Filter()); }), (Named{Errc::kNotFound, ""}));
  Strike(Fault::Kind::kErrorBefore, OpKind::kAcquire);
  EXPECT_EQ(Thrown([&] { return sagas.LockNext(Filter()); }), (Named{Errc::kUnavailable, ""}));
  manager.Close();
  EXPECT_EQ(Thrown([&] { return sagas.Lock("42"); }), (Named{Errc::kClosed, ""}));
}

TEST_P(DocumentOfErrorTest, LockAllNamesTheOneThatIsBusy) {
  for (const char* const id : {"1", "2", "3"}) sagas.Insert(Saga{id});
  auto held = sagas.Lock("2");
  const std::vector<Key> all{"1", "2", "3"};
  EXPECT_EQ(Thrown([&] { return sagas.LockAll(all, {.wait = 0s}); }),
            (Named{Errc::kBusy, "sagas/2"}));
}

TEST_P(DocumentOfErrorTest, ATransactionNamesTheOneThatWasRefused) {
  if (!store->traits().transactions) GTEST_SKIP() << "this store has no transactions";
  sagas.Insert(Saga{"42"});
  sagas.Insert(Saga{"43"});
  const LockingRepository<json> orders(manager, "orders");
  orders.Insert("7", {{"n", 1}});
  auto saga = sagas.Lock("42");
  Transaction refused(manager);
  refused.Release(saga).Insert(orders, "7", json{{"n", 2}});
  EXPECT_EQ(Thrown([&] { refused.Commit(); }), (Named{Errc::kConflict, "orders/7"}));
  EXPECT_EQ(Thrown([&] { Get(refused.CommitAsync()); }), (Named{Errc::kConflict, "orders/7"}));

  const Inbox inbox(manager);
  for (const bool again : {false, true}) {
    Transaction transaction(manager);
    inbox.Accept(transaction, "m1");
    transaction.Save(saga);
    const Named thrown = Thrown([&] { transaction.Commit(); });
    EXPECT_EQ(thrown, again ? (Named{Errc::kConflict, "inbox/m1"}) : Named{});
  }

  Transaction lost(manager);
  lost.Save(saga).Insert(orders, "8", json{{"n", 2}});
  StealLock(*store, "sagas", "42");
  EXPECT_EQ(Thrown([&] { lost.Commit(); }), (Named{Errc::kLost, "sagas/42"}));

  Strike(Fault::Kind::kErrorBefore, OpKind::kSave);
  Transaction away(manager);
  away.Insert(orders, "9", json{{"n", 2}}).Insert(orders, "10", json{{"n", 2}});
  EXPECT_EQ(Thrown([&] { away.Commit(); }), (Named{Errc::kUnavailable, ""}));
}

DOCLOCK_FOR_ALL_STORES(DocumentOfErrorTest);

}  // namespace
}  // namespace doclock
