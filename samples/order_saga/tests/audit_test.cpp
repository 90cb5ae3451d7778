// The audit is worth what it finds: each test breaks one thing, and expects it to be named.

#include "../audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "../input.h"
#include "../journal.h"

namespace order_saga {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

fs::path MakeFolder() {
  std::string name = ::testing::TempDir() + "order_saga_test-XXXXXX";
  return ::mkdtemp(name.data()) == nullptr ? fs::path() : fs::path(name);
}

class AuditTest : public ::testing::Test {
 protected:
  AuditTest() {
    place_.folder = MakeFolder();
    for (const std::string id : {"line 1", "line 2"}) {
      Saga saga;
      saga.id = id;
      saga.payload = {{"total", 1}, {"name", "Zoë"}};
      input_.push_back(saga);
      saga.done = true;
      for (std::size_t i = 0; i < kSteps.size(); ++i) {
        const auto fence = static_cast<std::int64_t>(2 * i + 2);
        const int worker = static_cast<int>(i % 2) + 1;
        saga.history.push_back({std::string(kSteps[i]), worker, fence});
        Acknowledge(worker, {id, std::string(kSteps[i]), fence});
      }
      sagas_.Insert(saga);
    }
  }
  ~AuditTest() override { fs::remove_all(place_.folder); }
  AuditTest(const AuditTest&) = delete;
  AuditTest& operator=(const AuditTest&) = delete;

  void Acknowledge(int worker, const Acknowledged& entry) {
    Journal(place_.journal(worker)).Append(entry);
  }
  void Spoil(const std::function<void(Saga&)>& change) { sagas_.Update("line 2", change); }
  std::vector<std::string> Problems() { return Audit(input_, sagas_, place_, 3); }
  static auto Says(const std::string& what) {
    return AllOf(HasSubstr("\"line 2\""), HasSubstr(what));
  }

  Place place_;
  std::vector<Saga> input_;
  doclock::LockManager manager_{doclock::OpenMemoryStore()};
  SagaRepository sagas_{manager_, "sagas"};
};

TEST_F(AuditTest, FindsNothingWhereNothingIsWrong) { EXPECT_THAT(Problems(), IsEmpty()); }

TEST_F(AuditTest, SeesAChangedPayload) {
  Spoil([](Saga& saga) { saga.payload["total"] = 1.0; });
  EXPECT_THAT(Problems(), ElementsAre(Says("payload")));
}

TEST_F(AuditTest, SeesAStepDoneTwice) {
  Spoil([](Saga& saga) { saga.history.push_back({"notify", 1, 10}); });
  EXPECT_THAT(Problems(), ElementsAre(Says("once and in order")));
}

TEST_F(AuditTest, SeesAnUnfinishedSaga) {
  Spoil([](Saga& saga) { saga.done = false; });
  EXPECT_THAT(Problems(), ElementsAre(Says("not done")));
}

TEST_F(AuditTest, SeesALostAcknowledgedStep) {
  Spoil([](Saga& saga) { saga.history.pop_back(); });
  EXPECT_THAT(Problems(), Contains(Says("lost step notify")));
}

TEST_F(AuditTest, SeesAStepStoredUnderAnotherFence) {
  Spoil([](Saga& saga) { saga.history.back().fence = 9; });
  EXPECT_THAT(Problems(), ElementsAre(Says("lost step notify")));
}

TEST_F(AuditTest, SeesAFenceThatDidNotRise) {
  Spoil([](Saga& saga) { saga.history[1].fence = 2; });
  EXPECT_THAT(Problems(), Contains(Says("did not rise")));
}

TEST_F(AuditTest, SeesAStepAcknowledgedToTwoWorkers) {
  Acknowledge(3, {"line 2", "pay", 4});
  EXPECT_THAT(Problems(), ElementsAre(Says("acknowledged twice, by worker 2 and worker 3")));
}

TEST_F(AuditTest, SeesAMissingSagaAndAForeignOne) {
  sagas_.Erase("line 2");
  EXPECT_THAT(Problems(), Contains(Says("missing")));
  Saga other;
  other.id = "other";
  sagas_.Insert(other);
  input_.pop_back();
  EXPECT_THAT(Problems(), Contains(HasSubstr("not in the input")));
}

TEST_F(AuditTest, SeesALockThatWasLeft) {
  auto held = sagas_.Lock("line 2");
  EXPECT_THAT(Problems(), ElementsAre(Says("still locked")));
}

TEST_F(AuditTest, SeesADamagedJournal) {
  std::ofstream(place_.journal(3)) << "{\"saga\":\"li";
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("journal-3.jsonl, line 1")));
}

class InputTest : public ::testing::Test {
 protected:
  ~InputTest() override { fs::remove_all(folder_); }

  std::vector<Saga> Read(const std::string& text) {
    std::ofstream(folder_ / "in.jsonl", std::ios::binary) << text;
    return ReadSagas(folder_ / "in.jsonl");
  }
  std::string Complaint(const std::string& text) {
    try {
      Read(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder_ = MakeFolder();
};

TEST_F(InputTest, TakesAnyObject) {
  const auto sagas = Read("{}\r\n\n{\"id\":1,\"lockId\":null,\"$a.b\":[9223372036854775807,-0.0]}");
  ASSERT_EQ(sagas.size(), 2U);
  EXPECT_EQ(sagas[1].id, "line 3");
  EXPECT_EQ(sagas[1].payload.dump(), R"({"$a.b":[9223372036854775807,-0.0],"id":1,"lockId":null})");
}

TEST_F(InputTest, NamesEveryBadLine) {
  const std::string complaint = Complaint(
      "{}\n[]\n{\"a\":}\n{\"a\":{\"b\":1,\"b\":1}}\n{\"a\":9223372036854775808}\n"
      "{\"a\":-99999999999999999999}\n{\"a\":\"\xff\"}\n{\"a\":1e999}\n{\"a\":" +
      std::string(100'000, '[') + std::string(100'000, ']') + "}\n{\"a\\u0000\":1}\n");
  EXPECT_THAT(complaint, Not(HasSubstr("line 1 ")));
  for (const char* part : {"line 2 is not an object but array", "line 3 is not JSON",
                           "line 4 has the name \"b\" twice", "line 5 has a whole number",
                           "line 6 has a whole number", "line 7 is not JSON", "line 8 is not JSON",
                           "line 9 is nested too deep", "line 10 cannot be stored"}) {
    EXPECT_THAT(complaint, HasSubstr(part));
  }
}

TEST_F(InputTest, RefusesAFileWithoutOrders) {
  EXPECT_THAT(Complaint("\n\n"), HasSubstr("no orders"));
}

}  // namespace
}  // namespace order_saga
