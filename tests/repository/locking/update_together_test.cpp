#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "doclock/messages.h"
#include "doclock/update.h"
#include "repository/support/harness.h"

namespace doclock {
namespace {

class UpdateTogetherTest : public RepositoryTest {
 protected:
  void SetUp() override {
    if (!store->traits().transactions) GTEST_SKIP() << "this store has no transactions";
    sagas.Insert(Saga{"a", "on", 10});
    sagas.Insert(Saga{"b", "on", 20});
    accounts.Insert(Account(1, 100));
  }
  int Attempts(const char* key) { return Stored(key).value().at("attempts"); }
  /// Saves another value, as another client does.
  void ChangeElsewhere(const char* key) {
    auto other = sagas.Find(key).value();
    other->attempts += 100;
    sagas.Save(other);
  }

  const LockingRepository<Account> accounts{manager, "accounts"};
  const LockingRepository<Saga> impatient{manager, "sagas", {.update_retries = 0}};
};
DOCLOCK_FOR_ALL_STORES(UpdateTogetherTest);

/// f adds one to each.
void Increment(Saga& a, Saga& b, Transaction&) {
  ++a.attempts;
  ++b.attempts;
}

TEST_P(UpdateTogetherTest, StoresWhatFChangedInOneCommitWithoutALock) {
  store->Reset();
  const int sum = Update(sagas.At("a"), accounts.At(1), [](Saga& a, Account& one, Transaction&) {
    ++a.attempts;
    one.Deposit(5);
    return a.attempts + one.balance();
  });
  EXPECT_EQ(sum, 116);
  EXPECT_EQ(store->Count(OpKind::kAcquire), 0);
  EXPECT_EQ(Attempts("a"), 11);
  EXPECT_EQ(accounts.Find(1).value()->balance(), 105);
  EXPECT_EQ(Version("a"), 2);
}

TEST_P(UpdateTogetherTest, WhatFLeavesUnchangedIsExpectedAndNotWritten) {
  int calls = 0;
  Update(sagas.At("a"), sagas.At("b"), [&](Saga& a, Saga& b, Transaction&) {
    if (++calls == 1) ChangeElsewhere("b");
    a.attempts += b.attempts;
  });
  EXPECT_EQ(calls, 2) << "the decision rested on what another client changed";
  EXPECT_EQ(Attempts("a"), 130);
  EXPECT_EQ(Version("b"), 2);
}

TEST_P(UpdateTogetherTest, SendsNoCommitIfNothingIsChangedOrAdded) {
  store->Reset();
  EXPECT_EQ(Update(sagas.At("a"), sagas.At("b"),
                   [](Saga& a, Saga& b, Transaction&) { return a.attempts + b.attempts; }),
            30);
  EXPECT_EQ(Writes(), 0);
  EXPECT_EQ(Version("a"), 1);
}

TEST_P(UpdateTogetherTest, WhatIsAddedRestsOnDocumentsThatAreOnlyRead) {
  int calls = 0;
  Update(sagas.At("a"), [&](Saga& a, Transaction& transaction) {
    if (++calls == 1) ChangeElsewhere("a");
    transaction.Insert(sagas, Saga{"of a", "new", a.attempts});
  });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(Attempts("of a"), 110) << "nothing is left of the first transaction";
  EXPECT_EQ(Version("a"), 2);
}

TEST_P(UpdateTogetherTest, InsertsAMissingDocumentWithTheCommitAndNotBefore) {
  for (const auto& repository : {sagas, impatient}) {
    const auto update = [&](bool fails) {
      Update(repository.At("a"), repository.At(Saga{"new", "begun"}),
             [&](Saga& a, Saga& fresh, Transaction&) {
               EXPECT_FALSE(Stored("new"));
               ++a.attempts;
               fresh.attempts = 7;
               if (fails) throw std::range_error("no");
             });
    };
    EXPECT_THROW(update(true), std::range_error);
    clock->RunPending();
    EXPECT_FALSE(Stored("new"));
    EXPECT_FALSE(IsLocked("a"));
    update(false);
    EXPECT_EQ(Stored("new").value(), json({{"step", "begun"}, {"attempts", 7}}));
    sagas.Erase("new");
  }
  EXPECT_EQ(Attempts("a"), 12);
}

TEST_P(UpdateTogetherTest, InsertsAMissingDocumentThatFLeavesAsItIs) {
  Update(sagas.At(Saga{"new", "begun"}), [](Saga&, Transaction&) {});
  EXPECT_EQ(Stored("new").value().at("step"), "begun");
}

TEST_P(UpdateTogetherTest, MeetsADocumentThatAnotherClientCreatedMeanwhile) {
  for (const auto& repository : {sagas, impatient}) {
    int calls = 0;
    Update(repository.At("a"), repository.At(Saga{"new"}), [&](Saga&, Saga& fresh, Transaction&) {
      if (++calls == 1) sagas.Insert(Saga{"new", "others", 5});
      ++fresh.attempts;
    });
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(Stored("new").value(), json({{"step", "others"}, {"attempts", 6}}));
    EXPECT_FALSE(IsLocked("a") || IsLocked("new"));
    sagas.Erase("new");
  }
}

TEST_P(UpdateTogetherTest, AMissingDocumentWithoutAnEntityIsNotFound) {
  for (const auto& repository : {sagas, impatient}) {
    EXPECT_THROW(Update(repository.At("a"), repository.At("none"),
                        [](Saga&, Saga&, Transaction&) { FAIL() << "it is called"; }),
                 NotFoundException);
  }
  // One that goes while f runs.
  int calls = 0;
  EXPECT_THROW(Update(sagas.At("a"), sagas.At("b"),
                      [&](Saga& a, Saga&, Transaction&) {
                        ++calls;
                        ++a.attempts;
                        sagas.Erase("b");
                      }),
               NotFoundException);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(Attempts("a"), 10);
}

TEST_P(UpdateTogetherTest, TakesTheLocksAfterSoManyAttempts) {
  const LockingRepository<Saga> repository(manager, "sagas", {.update_retries = 3});
  int calls = 0;
  Update(repository.At("b"), repository.At("a"), [&](Saga& b, Saga& a, Transaction& transaction) {
    if (++calls <= 3) {
      ChangeElsewhere("a");
    } else {
      EXPECT_TRUE(IsLocked("a") && IsLocked("b"));
    }
    a.attempts += b.attempts;
    transaction.Insert(sagas, Saga{"note"});
  });
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(Attempts("a"), 330);
  EXPECT_EQ(Attempts("b"), 20);
  EXPECT_FALSE(IsLocked("a") || IsLocked("b"));
  EXPECT_TRUE(Stored("note"));
}

TEST_P(UpdateTogetherTest, WaitsForTheLockOfADocumentThatItWrites) {
  auto held = sagas.Lock("b", {.ttl = 10s, .renew = false});
  held->attempts = 1000;
  held.Save();
  int calls = 0;
  Update(sagas.At("a"), sagas.At("b"), [&](Saga& a, Saga& b, Transaction&) {
    ++calls;
    a.attempts += b.attempts;
  });
  EXPECT_EQ(calls, 1) << "only a is written, and b is as it was read";
  EXPECT_EQ(Attempts("a"), 1010);
  EXPECT_TRUE(IsLocked("b"));
  Update(sagas.At("a"), sagas.At("b"), Increment);
  EXPECT_EQ(Attempts("a"), 1011);
  EXPECT_EQ(Attempts("b"), 1001);
}

TEST_P(UpdateTogetherTest, GivesUpOnALockInTime) {
  const auto held = sagas.Lock("b");
  const auto code = [&](const UpdateOptions& options, std::stop_token stop = {}) {
    return CodeOf([&] { Update(sagas.At("a"), sagas.At("b"), Increment, options, stop); });
  };
  EXPECT_EQ(code({.within = 0s}), Errc::kBusy);
  EXPECT_EQ(code({.within = 5s}), Errc::kTimedOut);
  EXPECT_EQ(code({}), Errc::kTimedOut);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(code({}, stop.get_token()), Errc::kCancelled);
  EXPECT_EQ(CodeOf([&] {
              Update(
                  sagas.At("a"), [](Saga&, Transaction&) { FAIL(); }, {}, stop.get_token());
            }),
            Errc::kCancelled);
  clock->RunPending();
  EXPECT_EQ(Attempts("a"), 10);
  EXPECT_FALSE(IsLocked("a"));
}

TEST_P(UpdateTogetherTest, GivesUpInTimeIfOthersAreQuickerEachTime) {
  const auto meet_others = [&](Saga&, Saga& b, Transaction&) {
    ++b.attempts;
    clock->Jump(2s);
    ChangeElsewhere("b");
  };
  EXPECT_THROW(Update(sagas.At("a"), sagas.At("b"), meet_others, {.within = 5s}),
               ConflictException);
  std::stop_source stop;
  const auto stop_meanwhile = [&](Saga& a, Saga& b, Transaction& transaction) {
    meet_others(a, b, transaction);
    stop.request_stop();
  };
  EXPECT_EQ(CodeOf([&] {
              Update(sagas.At("a"), sagas.At("b"), stop_meanwhile, {.within = kForever},
                     stop.get_token());
            }),
            Errc::kCancelled);
}

TEST_P(UpdateTogetherTest, ALostLockAndAnErasedDocumentAreConflictsIfTheTimeIsOver) {
  const auto update = [&](const LockingRepository<Saga>& repository, const auto& meanwhile) {
    Update(repository.At("a"), repository.At(Saga{"b"}),
           [&](Saga& a, Saga& b, Transaction& transaction) {
             Increment(a, b, transaction);
             meanwhile();
           },
           {.within = 0s});
  };
  EXPECT_THROW(update(impatient, [&] { (void)sagas.Admin().Break("b"); }), ConflictException);
  clock->RunPending();  // the lock of "a" is given back in the background
  EXPECT_THROW(update(sagas, [&] { sagas.Erase("b"); }), ConflictException);
  EXPECT_EQ(Attempts("a"), 10);
}

TEST_P(UpdateTogetherTest, ADocumentInAnotherFormIsUnchangedIfFLeavesItAlone) {
  const LockingRepository<json> raw(manager, "sagas");
  raw.Insert("old", json{{"attempts", 3.0}});
  Update(sagas.At("a"), sagas.At("old"),
         [](Saga& a, const Saga& old, Transaction&) { a.attempts += old.attempts; });
  EXPECT_EQ(Attempts("a"), 13);
  EXPECT_EQ(Version("old"), 1);
}

TEST_P(UpdateTogetherTest, WhatFExpectsIsCheckedThoughItChangesNothing) {
  const auto seen = sagas.Find("b").value();
  const auto expect = [&](Saga&, Transaction& transaction) { transaction.Expect(sagas, seen); };
  Update(sagas.At("a"), expect);
  ChangeElsewhere("b");
  EXPECT_THROW(Update(sagas.At("a"), expect), ConflictException);
  Transaction lone(manager);
  lone.Expect(sagas, seen);
  EXPECT_THROW(lone.Commit(), ConflictException);
}

TEST_P(UpdateTogetherTest, FMayEraseADocumentThatItHasRead) {
  Update(sagas.At("a"), [&](Saga& a, Transaction& transaction) {
    const auto other = sagas.Find("b").value();
    a.attempts += other->attempts;
    transaction.Erase(sagas, other);
  });
  EXPECT_EQ(Attempts("a"), 30);
  EXPECT_FALSE(Stored("b"));
}

TEST_P(UpdateTogetherTest, AnExceptionEndsItWithNothingWritten) {
  for (const auto& repository : {sagas, impatient}) {
    EXPECT_THROW(Update(repository.At("a"), repository.At("b"),
                        [&](Saga& a, Saga&, Transaction& transaction) {
                          ++a.attempts;
                          transaction.Insert(sagas, Saga{"note"});
                          throw std::domain_error("no");
                        }),
                 std::domain_error);
    clock->RunPending();
    EXPECT_EQ(Attempts("a"), 10);
    EXPECT_FALSE(Stored("note"));
    EXPECT_FALSE(IsLocked("a") || IsLocked("b"));
  }
}

TEST_P(UpdateTogetherTest, WhatRefusesAnAdditionEndsItAtOnce) {
  const Inbox inbox(manager);
  int calls = 0;
  const auto handle = [&](const LockingRepository<Saga>& repository) {
    Update(repository.At("a"), [&](Saga& a, Transaction& transaction) {
      ++calls;
      inbox.Accept(transaction, "message");
      ++a.attempts;
    });
  };
  handle(sagas);
  EXPECT_THROW(handle(sagas), DuplicateMessageException);
  EXPECT_THROW(handle(impatient), DuplicateMessageException);
  EXPECT_THROW(Update(sagas.At("a"),
                      [&](Saga&, Transaction& transaction) {
                        ++calls;
                        transaction.Insert(sagas, Saga{"b"});
                      }),
               ConflictException);
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(Attempts("a"), 11);
  clock->RunPending();
  EXPECT_FALSE(IsLocked("a"));
}

TEST_P(UpdateTogetherTest, AUniqueIndexEndsIt) {
  sagas.EnsureIndex({"attempts"}, true);
  int calls = 0;
  EXPECT_THROW(Update(sagas.At("a"), sagas.At("b"),
                      [&](Saga& a, Saga& b, Transaction&) {
                        ++calls;
                        a.attempts = b.attempts;
                      }),
               ConflictException);
  EXPECT_EQ(calls, 1);
}

TEST_P(UpdateTogetherTest, FIsNotCalledAgainOnceInDoubt) {
  for (const auto& repository : {sagas, impatient}) {
    int calls = 0;
    EXPECT_THROW(
        Update(repository.At("a"), repository.At("b"),
               [&](Saga& a, Saga& b, Transaction& transaction) {
                 ++calls;
                 Increment(a, b, transaction);
                 store->Inject({.kind = Fault::Kind::kLate, .op = OpKind::kSave});
                 store->Inject({.kind = Fault::Kind::kLate, .op = OpKind::kWrite});
                 store->Inject(
                     {.kind = Fault::Kind::kErrorBefore, .op = OpKind::kRead, .times = 1000});
               }),
        InDoubtException);
    EXPECT_EQ(calls, 1);
    store->Heal();
    store->ReleaseLate();
    clock->RunPending();
  }
}

/// Whatever step the store fails at, either all is stored or nothing, and no lock stays.
TEST_P(UpdateTogetherTest, AFaultAtAnyStepLeavesAllOrNothing) {
  for (const auto& repository : {sagas, impatient}) {
    for (const auto kind : {Fault::Kind::kErrorBefore, Fault::Kind::kLostBefore,
                            Fault::Kind::kLostAfter, Fault::Kind::kRefused}) {
      for (int skip = 0;; ++skip) {
        const int a = Attempts("a"), b = Attempts("b");
        store->Inject({.kind = kind, .skip = skip});
        bool threw = false, in_doubt = false;
        try {
          Update(repository.At("a"), repository.At("b"), Increment, {.within = 5s});
        } catch (const InDoubtException&) {
          in_doubt = true;
        } catch (const Error&) {
          threw = true;
        }
        const bool struck = store->Heal() == 0;
        clock->RunPending();
        clock->Advance(1min);
        const int by = Attempts("a") - a;
        EXPECT_EQ(Attempts("b") - b, by);
        if (!in_doubt) {
          EXPECT_EQ(by, threw ? 0 : 1) << skip;
        }
        EXPECT_FALSE(IsLocked("a") || IsLocked("b")) << skip;
        if (!struck) break;
      }
    }
  }
}

TEST_P(UpdateTogetherTest, ALockThatIsLostMeanwhileBeginsAgain) {
  int calls = 0;
  Update(impatient.At("a"), impatient.At("b"), [&](Saga& a, Saga& b, Transaction& transaction) {
    if (++calls == 1) (void)sagas.Admin().Break("b");
    Increment(a, b, transaction);
  });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(Attempts("a"), 11);
  EXPECT_EQ(Attempts("b"), 21);
}

TEST_P(UpdateTogetherTest, ManyDocumentsOfOneRepositoryComeInTheOrderOfTheKeys) {
  const int sum = Update(sagas, {"b", "a"}, [](std::vector<Saga*> all, Transaction&) {
    EXPECT_EQ(all.at(0)->id, "b");
    int attempts = 0;
    for (Saga* const saga : all) attempts += saga->attempts++;
    return attempts;
  });
  EXPECT_EQ(sum, 30);
  EXPECT_EQ(Attempts("a"), 11);
  EXPECT_EQ(Attempts("b"), 21);
  EXPECT_THROW(Update(sagas, {"a", "none"}, [](std::vector<Saga*>, Transaction&) {}),
               NotFoundException);
  EXPECT_THROW(Update(sagas, {}, [](std::vector<Saga*>, Transaction&) {}), std::invalid_argument);
}

TEST_P(UpdateTogetherTest, TakesEntitiesThatCannotMoveAndThoseThatCarryTheirLock) {
  const LockingRepository<Machine> machines(manager, "machines");
  const LockingRepository<Order> orders(manager, "orders");
  machines.Insert("m", Machine("off"));
  orders.Insert(Order{"7", 1, {}});
  Update(machines.At("m"), orders.At("7"), sagas.At("a"), sagas.At("b"),
         [](Machine& machine, Order& order, Saga&, Saga&, Transaction&) {
           machine.state = "on";
           order.total += static_cast<int>(order.lock.version);
         });
  EXPECT_EQ(Stored("m", "machines").value(), json({{"state", "on"}}));
  EXPECT_EQ(orders.Find("7").value()->total, 2);
}

TEST_P(UpdateTogetherTest, RefusesMistakesInWords) {
  const auto text = [](const auto& update) -> std::string {
    try {
      update();
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(text([&] { Update(sagas.At("a"), sagas.At("a"), Increment); }),
              HasSubstr("document 'a' of 'sagas' is to be updated twice in one call"));
  LockManager another = AnotherManager();
  const LockingRepository<Saga> others(another, "sagas");
  EXPECT_THAT(text([&] { Update(sagas.At("a"), others.At("b"), Increment); }),
              HasSubstr("is of another LockManager"));
  EXPECT_THAT(text([&] { Update(sagas.At("a"), sagas.At("b"), Increment, {.within = -1s}); }),
              HasSubstr("UpdateOptions::within"));
  EXPECT_THAT(text([&] {
                Update(sagas.At("a"),
                       [](Saga&, Transaction& transaction) { transaction.Commit(); });
              }),
              HasSubstr("Update commits"));
  EXPECT_THAT(text([&] {
                Update(sagas.At("a"), [&](Saga&, Transaction& transaction) {
                  transaction.Erase(sagas, sagas.Find("a").value());
                });
              }),
              HasSubstr("is in the transaction already"));
  const auto added = [&](const auto& add) {
    return text(
        [&] { Update(sagas.At("a"), [&](Saga&, Transaction& transaction) { add(transaction); }); });
  };
  const auto refused = HasSubstr("Update commits the transaction of its f");
  auto held = sagas.Lock("b");
  auto lock = LockProvider(manager).Acquire("name");
  EXPECT_THAT(added([&](Transaction& transaction) { transaction.Release(held); }), refused);
  EXPECT_THAT(added([&](Transaction& transaction) { transaction.Keep(lock); }), refused);
  EXPECT_THAT(added([&](Transaction& transaction) {
                auto other = sagas.Find("b").value();
                transaction.Save(sagas, other);
              }),
              refused);
  std::optional<Transaction> taken;
  Update(sagas.At("a"), [&](Saga&, Transaction& transaction) { taken = std::move(transaction); });
  EXPECT_THAT(text([&] { taken->Commit(); }), refused);
  EXPECT_EQ(Attempts("a"), 10);
}

class UpdateTogetherThreadsTest : public ThreadsTest {};
DOCLOCK_FOR_ALL_STORES(UpdateTogetherThreadsTest);

/// Amounts that move between three documents, and the rule that one of two stays on duty.
TEST_P(UpdateTogetherThreadsTest, SumsAndRulesHold) {
  if (!store->traits().transactions) GTEST_SKIP() << "this store has no transactions";
  constexpr int kThreads = 6, kRounds = 30;
  const LockingRepository<Saga> sagas(manager, "sagas", {.update_wait = 10min});
  for (const char* key : {"0", "1", "2"}) sagas.Insert(Saga{key, "on", 100});
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        const std::string from = std::to_string((t + i) % 3), to = std::to_string((t + i + 1) % 3);
        if (i % 5 == 4) {
          auto [a, b] = LockAll({.wait = 10min}, sagas.At(from), sagas.At(to));
          --a->attempts;
          ++b->attempts;
          Transaction(manager).Release(a, b).Commit();
        } else {
          Update(sagas.At(from), sagas.At(to), [](Saga& a, Saga& b, Transaction&) {
            --a.attempts;
            ++b.attempts;
          });
        }
        const std::string own = std::to_string(t % 2), other = std::to_string(1 - t % 2);
        Update(sagas.At(own), sagas.At(other), [](Saga& mine, const Saga& theirs, Transaction&) {
          mine.step = mine.step == "on" && theirs.step == "on" ? "off" : "on";
        });
        const auto [x, y, z] = Read(sagas.At("0"), sagas.At("1"), sagas.At("2"));
        EXPECT_EQ((*x)->attempts + (*y)->attempts + (*z)->attempts, 300);
        EXPECT_TRUE((*x)->step == "on" || (*y)->step == "on") << "one stays on duty";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace doclock
