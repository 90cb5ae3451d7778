// SQLite's own memory may run out at any of its allocations, those of the commit among them: what
// is told is what is there.

#include <sqlite3.h>

#include <atomic>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>

#include "sqlite/support/harness.h"

namespace doclock::sqlite_test {
namespace {

/// SQLite's allocations, of which those fail that a test names. Installed before SQLite is used.
class FailingMemory {
 public:
  /// Fails the n-th allocation from now on (the first is 1), and `more` that follow it.
  static void FailAt(std::int64_t n, std::int64_t more) noexcept {
    failed_ = 0;
    last_ = n + more;
    first_ = n;
    count_ = 0;
  }
  /// Ends it. How many failed?
  static std::int64_t Disarm() noexcept {
    first_ = INT64_MAX;
    return failed_;
  }

  static bool Install() {
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &original_) != SQLITE_OK) return false;
    sqlite3_mem_methods failing = original_;
    failing.xMalloc = [](int size) { return Fails() ? nullptr : original_.xMalloc(size); };
    failing.xRealloc = [](void* memory, int size) {
      return Fails() ? nullptr : original_.xRealloc(memory, size);
    };
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &failing) == SQLITE_OK;
  }

 private:
  static bool Fails() noexcept {
    if (first_ == INT64_MAX) return false;
    const std::int64_t number = ++count_;
    const bool fails = number >= first_ && number <= last_;
    if (fails) ++failed_;
    return fails;
  }

  static inline sqlite3_mem_methods original_{};
  static inline std::atomic<std::int64_t> first_{INT64_MAX}, last_{0}, count_{0}, failed_{0};
};

const bool kInstalled = FailingMemory::Install();

/// Executes an operation while memory runs out. False: no allocation failed.
bool Fail(Client& client, StoreOp& op, std::int64_t n, std::int64_t more) {
  FailingMemory::FailAt(n, more);
  try {
    client.Execute(op);
  } catch (const std::bad_alloc&) {
    EXPECT_EQ(op.status, OpStatus::kPending);
  }
  return FailingMemory::Disarm() > 0;
}

/// Does the outcome say what is there?
void ExpectTrue(const StoreOp& op, bool there) {
  switch (op.status) {
    case OpStatus::kDone:
      EXPECT_TRUE(there) << "told as done";
      break;
    case OpStatus::kFailed:
      EXPECT_FALSE(there) << "told as failed: " << Why(op);
      EXPECT_EQ(op.detail->code, Errc::kUnavailable) << Why(op);
      break;
    case OpStatus::kInDoubt:
    case OpStatus::kPending:
      break;
    default:
      ADD_FAILURE() << Why(op);
  }
}

class SqliteOutOfMemory : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { ASSERT_TRUE(kInstalled); }
  /// Plays until the n-th allocation is none any more.
  void Play(const std::function<bool(const Key& key, std::int64_t n)>& play) {
    std::int64_t n = 1;
    while (play("key " + std::to_string(n), n) && !HasFailure()) ++n;
    EXPECT_GT(n, 3) << "nothing failed";
  }

  TempFolder folder_;
  std::filesystem::path file_ = folder_ / "things.db";
  Client client_{file_, {.sync = SqliteSync::kOff}};
  Client others_{file_, {.sync = SqliteSync::kOff}};
};

TEST_P(SqliteOutOfMemory, NoLockIsToldThatIsNotThere) {
  Play([&](const Key& key, std::int64_t n) {
    AcquireOp op = client_.AcquireOf(key, {.insert = Body::FromText(R"({"a":1})")});
    const bool failed = Fail(client_, op, n, GetParam());
    const ReadOp read = others_.Read(key);
    ExpectTrue(op,
               read.status == OpStatus::kDone && read.result.lock_id == op.request.grant.lock_id);
    return failed;
  });
}

TEST_P(SqliteOutOfMemory, NoReleaseIsToldThatIsNotDone) {
  Play([&](const Key& key, std::int64_t n) {
    const AcquireOp held = client_.Create(key, R"({"a":1})");
    EXPECT_EQ(held.status, OpStatus::kDone) << Why(held);
    WriteOp op =
        client_.ReleaseOf(key, held.request.grant.lock_id,
                          {.expected = held.result.version, .body = Body::FromText(R"({"a":2})")});
    const bool failed = Fail(client_, op, n, GetParam());
    const ReadOp read = others_.Read(key);
    EXPECT_EQ(read.result.lock_id.is_nil(), read.result.body.text() == R"({"a":2})")
        << "all or nothing";
    ExpectTrue(op, read.result.lock_id.is_nil());
    return failed;
  });
}

INSTANTIATE_TEST_SUITE_P(Failing, SqliteOutOfMemory, ::testing::Values(0, 1000),
                         [](const auto& param) {
                           return param.param == 0 ? "One" : "AllFromThere";
                         });

}  // namespace
}  // namespace doclock::sqlite_test
