#include <gtest/gtest.h>

#include <system_error>

#include "mongodb/support/client.h"
#include "mongodb/support/monitored_pool.h"
#include "process/few_threads.h"

#ifdef DOCLOCK_TEST_FEW_THREADS

namespace doclock::mongo_test {
namespace {

TEST(MongoStream, WhoseThreadDoesNotStartKeepsNoConnection) {
  Database database(SetUri());
  // Room for one stream.
  const MonitoredPool pool(WithSocketTimeout(SetUri()) + "&maxPoolSize=2", database.name());
  const auto store = OpenMongodbStore(pool.get(), database.name());
  const auto a = store->Open("a", {}, kTtl), b = store->Open("b", {}, kTtl);
  const auto hint = [](const LockHint&) {};
  {
    const test::FewThreads none(0);
    EXPECT_THROW(store->Watch(*a, hint), std::system_error);
  }
  auto stream = store->Watch(*b, hint);
  EXPECT_NE(stream, nullptr);
  EXPECT_EQ(store->Watch(*a, hint), nullptr);
  stream = nullptr;
  // The failed watch is not among the watchers.
  stream = store->Watch(*a, hint);
  EXPECT_NE(stream, nullptr);
  stream = nullptr;
  EXPECT_NE(store->Watch(*b, hint), nullptr);
}

}  // namespace
}  // namespace doclock::mongo_test

#endif
