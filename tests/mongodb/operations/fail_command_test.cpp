// Every operation of the store, with every fault that the server can make of a command: an error
// instead of the effect, a closed connection, an effect that no majority acknowledges, an effect
// that comes after the caller has given up. What is told is what happened, or doubt.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <thread>

#include "doclock/locking_repository.h"
#include "mongodb/support/client.h"
#include "mongodb/support/fail_point.h"
#include "mongodb/support/store_operations.h"

namespace doclock::mongo_test {
namespace {

constexpr auto kBudget = 250ms;

/// Those after which the driver looks for a primary again are slow to get over.
std::vector<CommandFault> Faults() {
  return {
      {.name = "NotWritablePrimary", .error_code = 10107},
      {.name = "PrimarySteppedDown", .error_code = 189},
      {.name = "ShutdownInProgress", .error_code = 91},
      {.name = "InterruptedDueToReplStateChange", .error_code = 11602},
      {.name = "MaxTimeMSExpired", .error_code = 50},
      {.name = "WriteConflict", .error_code = 112},
      {.name = "CursorNotFound", .error_code = 43},
      {.name = "QueryPlanKilled", .error_code = 175},
      {.name = "Unauthorized", .error_code = 13},
      {.name = "closed connection", .close = true},
      {.name = "no majority in time", .concern_code = 64},
      {.name = "majority unknown at shutdown", .concern_code = 91},
      {.name = "late effect", .block_ms = 600},
  };
}

/// Errors after which the server has surely done nothing.
bool IsDefinite(const CommandFault& fault) {
  return fault.error_code == 112 || fault.error_code == 13 || fault.error_code == 43 ||
         fault.error_code == 175 || fault.error_code == 10107;
}

class FailCommand : public ::testing::TestWithParam<Operation> {
 protected:
  static std::string FaultyUri(const Database& database) {
    // Else the driver would notice only after ten seconds that a primary it was told to be none is
    // one still.
    return database.uri() + "&heartbeatFrequencyMS=500";
  }
  /// The whole document, as the server has it.
  std::string Stored(const Key& key) { return database_.Stored(mongodb::Doc::Of("_id", key)); }
  std::int64_t StoredVersion(const Key& key) {
    const ReadOp read = good_.Read(key);
    return read.status == OpStatus::kDone ? read.result.version : 0;
  }

  /// Plays one operation with one fault in one place. False: it did not come so far.
  bool Play(const CommandFault& fault, const FailPoint::Where& where) {
    const Operation& operation = GetParam();
    const Key key("document " + std::to_string(++documents_));
    database_.Delete("things", {});
    Scene scene{good_, faulty_, key};
    operation.prepare(scene);
    const std::string before = Stored(key);
    FailPoint point(database_, fault, where);
    const auto start = std::chrono::steady_clock::now();
    const Told told = operation.run(scene);
    const auto took = std::chrono::steady_clock::now() - start;
    const std::int64_t met = point.End();
    const std::string after = Stored(key);
    EXPECT_LT(took, 1min);

    const bool wrote = after != before;
    if (!operation.writes) {
      EXPECT_NE(told.status, OpStatus::kInDoubt) << "reading has no effect: " << told.why;
      EXPECT_FALSE(wrote);
    }
    switch (told.status) {
      case OpStatus::kDone:
        EXPECT_EQ(operation.expected, OpStatus::kDone);
        EXPECT_EQ(wrote, operation.writes) << "told as done, and " << before << " is " << after;
        if (told.version != 0 && after.find("lockVersion") != after.npos) {
          EXPECT_EQ(told.version, StoredVersion(key));
        }
        break;
      case OpStatus::kInDoubt:
        EXPECT_FALSE(IsDefinite(fault) && where.times) << told.why;
        break;
      case OpStatus::kFailed:
        EXPECT_EQ(told.code, fault.error_code == 13 ? Errc::kRefused : Errc::kUnavailable)
            << "told as what will not mend: " << told.why;
        // An effect that is still to come may not be denied either.
        std::this_thread::sleep_for(std::chrono::milliseconds(2 * fault.block_ms));
        EXPECT_EQ(Stored(key), before) << "told as failed: " << told.why;
        break;
      default:
        EXPECT_EQ(told.status, operation.expected) << told.why;
        EXPECT_EQ(wrote, operation.leaves_entry);
    }
    if (fault.concern_code != 0 && where.times && met > 0 && wrote && !operation.in_two_steps) {
      EXPECT_EQ(told.status, OpStatus::kInDoubt) << "no majority has it";
    }
    return met > 0;
  }

  Database database_{SetUri()};
  Client good_{OpenMongodbStore(database_.uri())};
  Client faulty_{OpenMongodbStore(FaultyUri(database_), {.socket_timeout = kBudget}), "things",
                 kBudget};
  int documents_ = 0;
};

TEST_P(FailCommand, TellsWhatHappenedOrDoubt) {
  int met = 0;
  for (const CommandFault& fault : Faults()) {
    SCOPED_TRACE(fault.name);
    met += Play(fault, {.times = 1}) ? 1 : 0;
  }
  EXPECT_GT(met, 0) << "no fault met a command of this operation";
}

/// From the second command of an operation on: what it looks at, or tries again.
TEST_P(FailCommand, TellsWhatHappenedOrDoubtWhenItsLaterCommandsFail) {
  for (int skip = 1; skip <= 3; ++skip) {
    bool met = false;
    for (const CommandFault& fault : Faults()) {
      if (fault.name == "PrimarySteppedDown" || fault.error_code == 91) continue;
      SCOPED_TRACE(fault.name + ", after " + std::to_string(skip) + " commands");
      const bool fired = Play(fault, {.skip = skip});
      met = met || fired;
      if (!fired) break;
    }
    if (!met) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, FailCommand, ::testing::ValuesIn(Operations()),
                         [](const auto& tested) { return tested.param.name; });

/// The action of a program on a document, and by how much it raises the count.
struct Verb {
  std::string name;
  std::function<void(const LockingRepository<nlohmann::json>&, const std::string& key)> run;
};

void PrintTo(const Verb& verb, std::ostream* out) { *out << verb.name; }

void Increment(nlohmann::json& document) { document["n"] = document["n"].get<int>() + 1; }

std::vector<Verb> Verbs() {
  return {
      {"LockAndRelease",
       [](const auto& things, const std::string& key) { things.With(key, Increment); }},
      {"LockAndSave",
       [](const auto& things, const std::string& key) {
         auto lock = things.Lock(key);
         Increment(*lock);
         lock.Save();
         lock.Discard();
       }},
      {"Update", [](const auto& things, const std::string& key) { things.Update(key, Increment); }},
  };
}

class EngineUnderFaults : public ::testing::TestWithParam<Verb> {
 protected:
  using Things = LockingRepository<nlohmann::json>;
  static Things OpenThings(const std::string& uri) {
    LockManager manager(OpenMongodbStore(uri, {.socket_timeout = 250ms}), {.call_budget = 1500ms});
    return {std::move(manager), "things", {.ttl = 2s}};
  }

  Database database_{SetUri()};
  Things clean_ = OpenThings(database_.uri());
};

TEST_P(EngineUnderFaults, ADocumentInDoubtResolvesItselfAndNothingIsDoneTwice) {
  const Things things = OpenThings(database_.uri() + "&heartbeatFrequencyMS=500");
  int documents = 0, succeeded = 0, doubted = 0;
  for (const CommandFault& fault : Faults()) {
    for (const auto& commands : {std::initializer_list<std::string_view>{"findAndModify"},
                                 std::initializer_list<std::string_view>{"update"}}) {
      SCOPED_TRACE(fault.name + " of " + std::string(*commands.begin()));
      const std::string key = "document " + std::to_string(++documents);
      clean_.Insert(key, nlohmann::json{{"n", 0}});
      int least = 0, most = 1;
      {
        const FailPoint point(database_, fault, {.times = 1, .commands = commands});
        try {
          GetParam().run(things, key);
          least = 1;
          ++succeeded;
        } catch (const InDoubtException&) {
          ++doubted;
        } catch (const Error& error) {
          most = 0;
          // Only what the server refuses, and will go on refusing, may come to the caller.
          EXPECT_TRUE(error.errc() == Errc::kRefused || error.errc() == Errc::kUnavailable)
              << error.what();
        }
      }
      // Whatever was told, others get the document within the lease.
      const auto lock = clean_.Lock(key, {.wait = 10s});
      const int n = (*lock)["n"].template get<int>();
      EXPECT_GE(n, least);
      EXPECT_LE(n, most);
    }
  }
  std::cout << "[figures] " << documents << " faults: " << succeeded << " times done all the same, "
            << doubted << " times in doubt\n";
  EXPECT_GT(succeeded, documents / 2) << "faults that pass are for the engine to get over";
}

INSTANTIATE_TEST_SUITE_P(Verbs, EngineUnderFaults, ::testing::ValuesIn(Verbs()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace doclock::mongo_test
