#include <nlohmann/json.hpp>

#include "cli/harness.h"
#include "doclock/messages.h"
#include "doclock/stores/sqlite.h"

namespace doclock::cli_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// An outbox with two messages of one order, the first of which is parked.
class OutboxCommandTest : public CliTest {
 protected:
  void SetUp() override {
    const LockManager manager(OpenSqliteStore(folder / "locks.db"));
    const Outbox outbox(manager);
    Transaction transaction(manager);
    outbox.Add(transaction, {.id = "m1", .order = "a"});
    outbox.Add(transaction, {.id = 7, .order = "a"});
    transaction.Commit();
    const auto fails = [](const OutboxMessage&) { throw std::runtime_error("no route"); };
    while (outbox.SendNext(fails, {.max_attempts = 1})) {
    }
  }
};

TEST_F(OutboxCommandTest, ShowsWhatIsParked) {
  const Ended shown = Doclock({"outbox", "outbox"});
  EXPECT_THAT(shown.out, HasSubstr("pending 1, parked 1, oldest "));
  EXPECT_THAT(shown.out, HasSubstr("parked m1, attempts 1: no route\n"));
  const json all = json::parse(Doclock({"outbox", "--json", "outbox"}).out);
  EXPECT_EQ(all.at("pending"), 1);
  EXPECT_EQ(all.at("messages").at(0).at("key"), "m1");
  EXPECT_THAT(Doclock({"list", "--keys", "--where", "parked=true", "outbox"}).out, "m1\n");
}

TEST_F(OutboxCommandTest, RetriesAndDrops) {
  EXPECT_EQ(Doclock({"outbox", "--retry", "outbox"}).out, "retried 1\n");
  const Ended nothing = Doclock({"outbox", "--retry", "outbox", "m1"});
  EXPECT_EQ(nothing.out, "retried 0\n");
  EXPECT_EQ(nothing.code, 66);
  EXPECT_THAT(nothing.err, HasSubstr("no message 'm1' (--key-type string) is parked"));
  EXPECT_EQ(Doclock({"outbox", "--drop", "outbox", "m1"}).out, "dropped 1\n");
  EXPECT_EQ(Doclock({"outbox", "--drop", "--key-type", "int", "outbox", "7"}).out, "dropped 1\n");
  EXPECT_EQ(Doclock({"outbox", "outbox"}).out, "pending 0, parked 0\n");
  EXPECT_EQ(Doclock({"outbox", "--drop", "outbox", "m1"}).code, 66);
}

TEST_F(OutboxCommandTest, AnEmptyKeyIsAKey) {
  EXPECT_EQ(Doclock({"outbox", "--retry", "outbox", ""}).code, 66);
  EXPECT_THAT(Doclock({"outbox", "outbox"}).out, HasSubstr("parked 1"));
}

}  // namespace
}  // namespace doclock::cli_test
