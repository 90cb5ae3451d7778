#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "doclock/messages.h"
#include "doclock/stores/sqlite.h"
#include "process/child.h"
#include "process/eventually.h"
#include "process/temp_folder.h"

namespace doclock {
namespace {

using namespace std::chrono_literals;

TEST(KilledDispatcher, ItsMessageIsSentAgainWithTheSameIdAndInOrder) {
  const test::TempFolder folder;
  const LockManager manager(OpenSqliteStore(folder / "outbox.db"));
  const Outbox outbox(manager);
  Transaction transaction(manager);
  outbox.Add(transaction, {.id = "m1", .order = "a"});
  outbox.Add(transaction, {.id = "m2", .order = "a"});
  transaction.Commit();
  test::Child dispatcher({(folder / "outbox.db").string()});
  ASSERT_EQ(dispatcher.Line(), "m1");
  dispatcher.Kill();
  std::vector<std::string> sent;
  const auto send = [&](const OutboxMessage& message) {
    EXPECT_EQ(message.attempts, message.id == Key("m1") ? 2 : 1);
    sent.push_back(message.id.ToString());
  };
  EXPECT_TRUE(test::Eventually([&] {
    outbox.SendNext(send, {}, 10ms);
    return outbox.Status().pending == 0;
  }));
  EXPECT_EQ(sent, (std::vector<std::string>{"m1", "m2"}));
}

}  // namespace
}  // namespace doclock
