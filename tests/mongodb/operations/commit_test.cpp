// Several documents in one transaction of the server: what it keeps of each, what its answers mean,
// and the commands of users' own in it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "doclock/doclock.h"
#include "doclock/stores/mongodb.h"
#include "mongodb/client/reply.h"
#include "mongodb/statements/statements.h"
#include "mongodb/support/client.h"
#include "mongodb/support/driver_lines.h"
#include "mongodb/support/fail_point.h"
#include "mongodb/support/monitored_pool.h"
#include "mongodb/support/raw_server.h"
#include "mongodb/support/user_transaction.h"
#include "process/child.h"

namespace doclock::mongo_test {
namespace {

constexpr const char* kName = "doclock-commits";

/// Two documents that are released together, with new bodies.
class MongoCommit : public ::testing::Test {
 protected:
  struct Pair {
    WriteOp& first;
    WriteOp& second;
    CommitOp commit = {};
    StoreOp* ops[2] = {&first, &second};
  };

  WriteOp& Held() {
    const Key& key = keys_.emplace_back(static_cast<std::int64_t>(keys_.size()));
    const AcquireOp grant = client_.Acquire(key, NewUuid(), Counted(1));
    WriteOp& op = writes_.emplace_back(client_.collection(), key);
    op.request.lock_id = grant.request.grant.lock_id;
    op.request.expected = grant.result.version;
    op.request.body = Counted(2);
    op.request.base = grant.result.body;
    return op;
  }
  Pair TwoHeld() { return {Held(), Held()}; }
  OpStatus Commit(Pair& pair, std::chrono::milliseconds budget = 10s) {
    pair.commit.ops = pair.ops;
    client_.store().Commit(pair.commit, budget);
    EXPECT_EQ(pair.first.status, pair.second.status) << Why(pair.first) << Why(pair.second);
    return pair.first.status;
  }
  /// How many of the two are stored?
  int Stored(const Pair& pair) {
    int stored = 0;
    for (const WriteOp* op : {&pair.first, &pair.second}) {
      const ReadOp read = client_.Read(*op->key);
      if (read.result.body.json() != nlohmann::json({{"n", 2}})) continue;
      EXPECT_EQ(read.result.version, op->request.expected + 1);
      EXPECT_EQ(read.result.released, op->request.lock_id);
      ++stored;
    }
    return stored;
  }

  Database database_{SetUri()};
  Client client_{OpenMongodbStore(database_.uri() + "&heartbeatFrequencyMS=500&appName=" + kName)};
  std::deque<Key> keys_;
  std::deque<WriteOp> writes_;
};

TEST_F(MongoCommit, WhatOthersChangedInABodyStays) {
  Pair pair = TwoHeld();
  database_.Update("things", {}, mongodb::Doc::Of("$set", mongodb::Doc::Of("foreign", 7)), true);
  ASSERT_EQ(Commit(pair), OpStatus::kDone);
  const nlohmann::json both({{"n", 2}, {"foreign", 7}});
  EXPECT_EQ(client_.Read(*pair.first.key).result.body.json(), both);
  EXPECT_EQ(client_.Read(*pair.second.key).result.body.json(), both);
}

TEST_F(MongoCommit, AReleaseByValueTellsItsVersion) {
  Pair pair = TwoHeld();
  const std::int64_t version = pair.first.request.expected;
  pair.first.request.expected = kAnyVersion;
  pair.first.request.merge = true;
  ASSERT_EQ(Commit(pair), OpStatus::kDone);
  EXPECT_EQ(pair.first.result.version, version + 1);
  EXPECT_EQ(client_.Read(*pair.first.key).result.version, version + 1);
}

TEST_F(MongoCommit, ALeaseThatIsOverKeepsNoSaveOut) {
  const Key key = "over";
  client_.Acquire(key, NewUuid(), Counted(1));
  client_.Expire(key);
  const ReadOp over = client_.Read(key);
  ASSERT_FALSE(over.result.lock_id.is_nil());
  SaveOp save =
      client_.SaveOf(SaveKind::kReplace, key, over.result.version, over.result.born, Counted(2));
  WriteOp& held = Held();
  StoreOp* const ops[] = {&held, &save};
  CommitOp commit;
  commit.ops = ops;
  client_.store().Commit(commit, 10s);
  ASSERT_EQ(save.status, OpStatus::kDone) << Why(save) << Why(held);
  EXPECT_EQ(save.result.version, over.result.version + 1);
  EXPECT_TRUE(client_.Read(key).result.lock_id.is_nil());
}

TEST_F(MongoCommit, AnIdThatHoldsNothingIsTold) {
  const Key shared = "shared", free = "free";
  const auto share = client_.Share(shared, NewUuid(), kMaxHolders, Counted(1)).result.version;
  const auto insert =
      client_.Save(SaveKind::kInsert, free, kAnyVersion, {}, Counted(1)).result.version;
  for (const auto& [key, version, id] : {std::tuple{&shared, share, kSharedLockId},
                                         {&shared, share, Uuid()},
                                         {&free, insert, Uuid()}}) {
    Pair pair = TwoHeld();
    pair.second.key = key;
    pair.second.request.lock_id = id;
    pair.second.request.expected = version;
    pair.commit.ops = pair.ops;
    client_.store().Commit(pair.commit, 10s);
    EXPECT_EQ(pair.first.status, OpStatus::kPending);
    EXPECT_EQ(pair.second.status, OpStatus::kLost);
    EXPECT_EQ(client_.Read(*key).result.version, version);
  }
}

TEST_F(MongoCommit, JoinedWorkLeavesTheDocumentsOpenToOthers) {
  Pair pair = TwoHeld();
  const WriteOp& op = pair.first;
  pair.commit.join = [&](void*) {
    EXPECT_EQ(client_.Renew(*op.key, op.request.lock_id).status, OpStatus::kDone);
  };
  ASSERT_EQ(Commit(pair), OpStatus::kDone);
  EXPECT_EQ(Stored(pair), 2);
}

TEST_F(MongoCommit, AClientThatWasQuickerIsTold) {
  Pair pair = TwoHeld();
  int calls = 0;
  pair.commit.join = [&](void*) {
    ++calls;
    const WriteOp taken =
        client_.Write(*pair.second.key, WriteKind::kCheckpoint, pair.second.request.lock_id,
                      {.expected = pair.second.request.expected});
    EXPECT_EQ(taken.status, OpStatus::kDone) << Why(taken);
  };
  pair.commit.ops = pair.ops;
  client_.store().Commit(pair.commit, 10s);
  EXPECT_EQ(pair.first.status, OpStatus::kPending);
  EXPECT_EQ(pair.second.status, OpStatus::kLost);
  EXPECT_EQ(calls, 1) << "it is called only where nothing is refused yet";
  EXPECT_EQ(client_.Read(*pair.first.key).result.version, pair.first.request.expected);
}

/// A process that is killed in the middle of transfers moves nothing twice, and loses nothing.
class MongoCommitKilled : public MongoCommit {
 protected:
  /// The sum of all `n`, at one moment: the server may still commit after its client is gone.
  std::int64_t Sum() {
    mongodb::Doc group;
    group.AddNull("_id").Add("sum", mongodb::Doc::Of("$sum", "$n"));
    mongodb::Doc command;
    command.Add("aggregate", "things");
    command.Add("pipeline", mongodb::Array().Add(mongodb::Doc::Of("$group", group)));
    command.Add("cursor", mongodb::Doc());
    std::int64_t sum = -1;
    ForEachRow(database_.name(), command, [&](const bson_t& row) {
      bson_iter_t at;
      if (bson_iter_init_find(&at, &row, "sum")) sum = bson_iter_as_int64(&at);
    });
    return sum;
  }
  /// Ends what a client of this name has left open, which would keep the database from being
  /// dropped.
  void EndTransactionsOf(const std::string& client) {
    mongodb::Doc all, command;
    all.Add("allUsers", true).Add("idleSessions", true);
    mongodb::Array stages;
    stages.Add(mongodb::Doc::Of("$currentOp", all));
    stages.Add(mongodb::Doc::Of("$match", mongodb::Doc::Of("appName", client)));
    stages.Add(mongodb::Doc::Of("$project", mongodb::Doc::Of("lsid.id", 1)));
    command.Add("aggregate", 1).Add("pipeline", stages).Add("cursor", mongodb::Doc());
    std::vector<mongodb::Doc> sessions;
    ForEachRow("admin", command, [&](const bson_t& row) {
      bson_t session;
      if (!mongodb::FindDocument(row, "lsid", session)) return;
      bson_concat(sessions.emplace_back().get(), &session);
    });
    for (const mongodb::Doc& session : sessions) {
      mongodb::Array one;
      one.Add(session);
      database_.server().Run("admin", mongodb::Doc::Of("killSessions", one));
    }
  }

 private:
  template <class Visit>
  void ForEachRow(const std::string& database, const mongodb::Doc& command, const Visit& visit) {
    database_.server().Run(database, command, [&](const bson_t& reply) {
      bson_t cursor, row;
      if (!mongodb::FindDocument(reply, "cursor", cursor)) return;
      mongodb::ForEachItem(cursor, "firstBatch", [&](const bson_iter_t& item) {
        if (mongodb::DocumentAt(item, row)) visit(row);
        return true;
      });
    });
  }
};

TEST_F(MongoCommitKilled, HasWrittenAllOrNothing) {
  const std::string name = database_.name() + "_child";  // no other client has it
  std::mt19937 random(std::random_device{}());
  for (int i = 0; i < 4; ++i) {
    const std::string from = "from " + std::to_string(i), to = "to " + std::to_string(i);
    for (const Key& key : {Key(from), Key(to)}) {
      client_.Save(SaveKind::kInsert, key, kAnyVersion, {}, Counted(0));
    }
    test::Child child({"transfer", database_.uri() + "&appName=" + name, from, to});
    ASSERT_EQ(child.Line(), "moving");
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
    child.Kill();
    EXPECT_EQ(Sum(), 0);
    const Key moved = from;
    EXPECT_LT(client_.Read(moved).result.body.json().at("n"), 0) << "it was told to be stored";
  }
  EndTransactionsOf(name);
}

/// libmongoc logs an abort of what the server has ended already.
class MongoCommitLog : public MongoCommit {
 protected:
  MongoCommitLog() { DriverLines::Take(); }
  ~MongoCommitLog() override { EXPECT_THAT(DriverLines::Take(), ::testing::IsEmpty()); }
};

TEST_F(MongoCommitLog, SaysNothingOfADocumentThatIsThere) {
  const Key there = "there";
  client_.Save(SaveKind::kInsert, there, kAnyVersion, {}, Counted(1));
  WriteOp& held = Held();
  SaveOp insert = client_.SaveOf(SaveKind::kInsert, there, kAnyVersion, {}, Counted(1));
  StoreOp* const ops[] = {&held, &insert};
  CommitOp commit;
  commit.ops = ops;
  client_.store().Commit(commit, 10s);
  EXPECT_EQ(insert.status, OpStatus::kConflict) << Why(insert);
  EXPECT_EQ(client_.Read(*held.key).result.version, held.request.expected);
}

TEST_F(MongoCommitLog, SaysNothingOfAWriteThatMetAnother) {
  Pair pair = TwoHeld();
  std::optional<UserTransaction> other;
  pair.commit.join = [&](void*) {
    // It ends before the second attempt.
    if (other) return other.reset();
    other.emplace(SetUri(), database_.name(), "things", "met");
    mongodb::Doc statement, command;
    statement.Add("q", mongodb::Doc::Of("_id", *pair.second.key));
    statement.Add("u", mongodb::Doc::Of("$set", mongodb::Doc::Of("touched", true)));
    other->Run(database_.name(), mongodb::CommandOf(mongodb::Verb::kUpdate, client_.collection(),
                                                    mongodb::Array().Add(statement), true));
  };
  EXPECT_EQ(Commit(pair), OpStatus::kDone) << Why(pair.first);
}

TEST_F(MongoCommitLog, SaysNothingOfJoinedWorkThatFails) {
  Pair pair = TwoHeld();
  for (const bool sends : {false, true}) {
    pair.commit.join = [&](void* native) {
      const auto& join = *static_cast<const MongodbJoin*>(native);
      if (sends) {
        mongodb::Doc command = mongodb::Doc::Of("insert", "invoices");
        command.Add("documents", mongodb::Array().Add(mongodb::Doc::Of("_id", 1)));
        mongoc_client_write_command_with_opts(join.client, database_.name().c_str(), command.get(),
                                              join.opts, nullptr, nullptr);
      }
      throw std::runtime_error("not today");
    };
    pair.commit.ops = pair.ops;
    client_.store().Commit(pair.commit, 10s);
    EXPECT_NE(pair.first.status, OpStatus::kDone);
    EXPECT_EQ(database_.Stored({}, "invoices").find("_id"), std::string::npos);
  }
}

class MongoCommitFaults : public MongoCommit {
 protected:
  FailPoint Fail(const CommandFault& fault, std::string_view command, std::optional<int> times) {
    return Fail(fault, {command}, times);
  }
  FailPoint Fail(const CommandFault& fault, std::initializer_list<std::string_view> commands,
                 std::optional<int> times) {
    return {database_, fault, {.times = times, .commands = commands, .client = kName}};
  }
  /// Each of them strikes the command once, and all is stored all the same, by so many
  /// transactions.
  void ExpectStoredDespite(const std::vector<CommandFault>& faults, std::string_view command,
                           int transactions) {
    for (const CommandFault& fault : faults) {
      SCOPED_TRACE(fault.name);
      Pair pair = TwoHeld();
      int begun = 0;
      pair.commit.join = [&](void*) { ++begun; };
      FailPoint point = Fail(fault, command, 1);
      EXPECT_EQ(Commit(pair), OpStatus::kDone) << Why(pair.first);
      EXPECT_EQ(point.End(), 1);
      EXPECT_EQ(begun, transactions);
      EXPECT_EQ(Stored(pair), 2);
    }
  }
};

TEST_F(MongoCommitFaults, TheSameCommitIsSentAgainUntilTheServerTellsItsOutcome) {
  ExpectStoredDespite(
      {
          {.name = "MaxTimeMSExpired", .error_code = 50},
          {.name = "InterruptedDueToReplStateChange", .error_code = 11602},
          {.name = "no majority in time", .concern_code = 64},
          {.name = "closed connection", .close = true},
      },
      "commitTransaction", 1);
}

/// A primary without its majority answers so, and may be rolled back.
TEST_F(MongoCommitFaults, ACommitThatNoMajorityConfirmsIsInDoubt) {
  Pair pair = TwoHeld();
  FailPoint point =
      Fail({.name = "no majority in time", .concern_code = 64}, "commitTransaction", {});
  EXPECT_EQ(Commit(pair, 300ms), OpStatus::kInDoubt);
  EXPECT_GT(point.End(), 1);
  EXPECT_EQ(Stored(pair), 2) << "this one had its majority";
}

TEST_F(MongoCommitFaults, ACommitWithoutAnOutcomeIsInDoubtAndKeepsNobodyOut) {
  Pair pair = TwoHeld();
  FailPoint point = Fail({.name = "MaxTimeMSExpired", .error_code = 50}, "commitTransaction", {});
  EXPECT_EQ(Commit(pair, 300ms), OpStatus::kInDoubt);
  EXPECT_GT(point.End(), 1);
  EXPECT_EQ(Stored(pair), 0);
  const WriteOp later = client_.Release(*pair.first.key, pair.first.request.lock_id,
                                        {.expected = pair.first.request.expected});
  EXPECT_EQ(later.status, OpStatus::kDone) << Why(later);
}

TEST_F(MongoCommitFaults, ATransactionThatCannotBeKilledKeepsNobodyOut) {
  Pair pair = TwoHeld();
  {
    const FailPoint point = Fail({.name = "MaxTimeMSExpired", .error_code = 50},
                                 {"commitTransaction", "killSessions"}, {});
    EXPECT_EQ(Commit(pair, 300ms), OpStatus::kInDoubt);
  }
  EXPECT_EQ(Stored(pair), 0);
  const WriteOp later = client_.Release(*pair.first.key, pair.first.request.lock_id,
                                        {.expected = pair.first.request.expected});
  EXPECT_EQ(later.status, OpStatus::kDone) << Why(later);
}

/// Sends a command that a driver has sent before, byte for byte, as OP_MSG. Returns its error code.
std::int64_t SendToPrimary(Database& database, const mongodb::Doc& command) {
  std::string primary;
  database.Run(mongodb::Doc::Of("hello", 1),
               [&](const bson_t& reply) { primary = mongodb::TextAt(reply, "primary"); });
  const auto colon = primary.find(':');
  boost::asio::ip::tcp::iostream server(primary.substr(0, colon), primary.substr(colon + 1));
  // Length, request, response to, kind; then flags, and the kind of section.
  const auto size = static_cast<std::int32_t>(command.get()->len);
  std::array<std::int32_t, 5> head{21 + size, 1, 0, 2013, 0};
  server.write(reinterpret_cast<const char*>(head.data()), sizeof head).put('\0');
  server.write(reinterpret_cast<const char*>(bson_get_data(command.get())), size).flush();
  server.read(reinterpret_cast<char*>(head.data()), sizeof head).get();
  std::vector<std::uint8_t> answer(static_cast<std::size_t>(head[0]) - 21);
  server.read(reinterpret_cast<char*>(answer.data()), std::ssize(answer));
  bson_t reply;
  bson_iter_t code;
  const bool failed = server && bson_init_static(&reply, answer.data(), answer.size()) &&
                      bson_iter_init_find(&code, &reply, "code");
  return failed ? bson_iter_as_int64(&code) : 0;
}

/// The network may deliver it when the client has given it up.
TEST_F(MongoCommitFaults, AFirstCommandThatComesLateBeginsNothing) {
  MonitoredPool pool(WithSocketTimeout(database_.uri() + "&appName=" + kName), database_.name());
  const auto store = OpenMongodbStore(pool.get(), database_.name());
  Pair pair = TwoHeld();
  pair.commit.ops = pair.ops;
  {
    const FailPoint point = Fail({.name = "closed connection", .close = true}, "update", 1);
    store->Commit(pair.commit, 10s);
  }
  EXPECT_EQ(pair.first.status, OpStatus::kDone) << Why(pair.first);
  EXPECT_EQ(SendToPrimary(database_, pool.TakeFirstOfTransaction()),
            mongodb::kConflictingOperationInProgress);
}

TEST_F(MongoCommitFaults, ATransactionThatTheServerEndedBeginsAnew) {
  Pair pair = TwoHeld();
  std::promise<void> begun;
  mongodb::Doc session;
  int calls = 0;
  pair.commit.join = [&](void* native) {
    if (++calls > 1) return;
    const auto& join = *static_cast<const MongodbJoin*>(native);
    bson_concat(session.get(), mongoc_client_session_get_lsid(join.session));
    begun.set_value();
  };
  const FailPoint late = Fail({.name = "late", .block_ms = 400}, "commitTransaction", 1);
  const auto killed = std::async(std::launch::async, [&] {
    begun.get_future().wait();
    std::this_thread::sleep_for(200ms);  // the commit is under way
    database_.server().Run("admin",
                           mongodb::Doc::Of("killSessions", mongodb::Array().Add(session)));
  });
  EXPECT_EQ(Commit(pair), OpStatus::kDone) << Why(pair.first);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(Stored(pair), 2);
}

TEST_F(MongoCommitFaults, AStatementThatFailsInPassingIsSentAgain) {
  ExpectStoredDespite(
      {
          {.name = "WriteConflict", .error_code = 112},
          {.name = "LockTimeout", .error_code = 24},
          {.name = "NoSuchTransaction", .error_code = 251},
          {.name = "closed connection", .close = true},
      },
      "update", 2);
}

TEST_F(MongoCommitFaults, AConnectionThatIsLostBehindAWriteKeepsTheDocumentForNoOne) {
  WriteOp& held = Held();
  const Key fresh = "fresh";
  SaveOp insert = client_.SaveOf(SaveKind::kInsert, fresh, kAnyVersion, {}, Counted(1));
  StoreOp* const ops[] = {&held, &insert};
  CommitOp commit;
  commit.ops = ops;
  FailPoint point = Fail({.name = "closed connection", .close = true}, "insert", 1);
  client_.store().Commit(commit, 9s);
  EXPECT_EQ(point.End(), 1);
  EXPECT_EQ(held.status, OpStatus::kDone) << Why(held);
  EXPECT_EQ(insert.status, OpStatus::kDone);
}

TEST_F(MongoCommitFaults, AStatementThatIsNotAllowedIsRefused) {
  Pair pair = TwoHeld();
  const FailPoint point = Fail({.name = "Unauthorized", .error_code = 13}, "update", {});
  EXPECT_EQ(Commit(pair), OpStatus::kFailed);
  EXPECT_EQ(pair.first.detail->code, Errc::kRefused);
  EXPECT_EQ(Stored(pair), 0);
}

using Json = nlohmann::json;

class MongoJoin : public ::testing::Test {
 protected:
  void Insert(const MongodbJoin& join) {
    mongoc_collection_t* const invoices =
        mongoc_client_get_collection(join.client, database_.name().c_str(), "invoices");
    bson_error_t error{};
    const mongodb::Doc invoice = mongodb::Doc::Of("_id", 7);
    const bool done =
        mongoc_collection_insert_one(invoices, invoice.get(), join.opts, nullptr, &error);
    mongoc_collection_destroy(invoices);
    if (!done) throw std::runtime_error(error.message);
  }
  bool HasInvoice() { return database_.Stored({}, "invoices").find("_id") != std::string::npos; }
  Json Order() { return *orders_.Find("1").value(); }

  Database database_{SetUri()};
  LockManager manager_{OpenMongodbStore(database_.uri())};
  LockingRepository<Json> orders_{manager_, "orders"};
};

TEST_F(MongoJoin, GoesInWithTheDocuments) {
  orders_.Insert("1", {{"paid", false}});
  auto order = orders_.Lock("1");
  Transaction transaction(manager_);
  transaction.Release(order);
  Join(transaction, [&](const MongodbJoin& join) { Insert(join); });
  (*order)["paid"] = true;
  transaction.Commit();
  EXPECT_TRUE(HasInvoice());
  EXPECT_EQ(Order(), Json({{"paid", true}}));
}

TEST_F(MongoJoin, ThatThrowsIsRolledBackAndAllIsHeld) {
  orders_.Insert("1", {{"paid", false}});
  auto order = orders_.Lock("1");
  Transaction transaction(manager_);
  transaction.Release(order);
  bool fails = true;
  Join(transaction, [&](const MongodbJoin& join) {
    Insert(join);
    if (fails) throw std::runtime_error("not today");
  });
  (*order)["paid"] = true;
  EXPECT_THROW(transaction.Commit(), std::runtime_error);
  EXPECT_FALSE(HasInvoice());
  EXPECT_EQ(Order(), Json({{"paid", false}}));
  EXPECT_TRUE(order.held());
  fails = false;
  transaction.Commit();
  EXPECT_TRUE(HasInvoice());
  EXPECT_EQ(Order(), Json({{"paid", true}}));
}

TEST_F(MongoJoin, ThatEndsTheTransactionIsAMistake) {
  orders_.Insert("1", {{"paid", false}});
  auto order = orders_.Lock("1");
  const auto commit = [](const MongodbJoin& join) {
    mongoc_client_session_commit_transaction(join.session, nullptr, nullptr);
  };
  const auto abort = [](const MongodbJoin& join) {
    mongoc_client_session_abort_transaction(join.session, nullptr);
  };
  for (const std::function<void(const MongodbJoin&)>& end :
       {std::function<void(const MongodbJoin&)>(commit), {abort}}) {
    Transaction transaction(manager_);
    transaction.Release(order);
    Join(transaction, end);
    (*order)["paid"] = true;
    EXPECT_THROW(transaction.Commit(), std::logic_error);
    EXPECT_EQ(Order(), Json({{"paid", false}}));
    EXPECT_TRUE(order.held());
  }
}

TEST_F(MongoJoin, IsOfAReplicaSet) {
  const LockManager memory(OpenMemoryStore());
  Transaction elsewhere(memory);
  EXPECT_THROW(Join(elsewhere, [](const MongodbJoin&) {}), std::invalid_argument);
  Transaction here(manager_);
  EXPECT_THROW(Join(here, std::function<void(const MongodbJoin&)>()), std::invalid_argument);
  Database alone(StandaloneUri());
  const LockManager standalone(OpenMongodbStore(alone.uri()));
  try {
    const Transaction refused(standalone);
    ADD_FAILURE() << "a server that is no member of a set has no transactions";
  } catch (const StoreException& error) {
    EXPECT_EQ(error.errc(), Errc::kRefused);
  }
}

}  // namespace
}  // namespace doclock::mongo_test
