/// A transaction of SQLite fails, and then memory runs out: what is told is what is there.

#include <gtest/gtest.h>

#include <string>

#include "allocation/told.h"
#include "process/temp_folder.h"
#include "sqlite/db/faulty_files.h"
#include "sqlite/support/client.h"

namespace doclock::allocation_test {
namespace {

using namespace std::chrono_literals;
using sqlite_test::FaultyFiles;

enum class Failing { kNothing, kFullDisk, kCommit, kEachCommit, kOneThatIsTooLarge };

class SqliteAllocation : public ::testing::TestWithParam<Failing> {
 protected:
  SqliteStoreOptions Options() const {
    SqliteStoreOptions options;
    if (GetParam() == Failing::kOneThatIsTooLarge) options.max_pages = 60;
    return options;
  }
  Body NewBody() const {
    const bool large = GetParam() == Failing::kOneThatIsTooLarge;
    return Body::FromText(R"({"text":")" + std::string(large ? 1'000'000 : 1, 'x') + R"("})");
  }
  AcquireOp Share(const Key& key) {
    AcquireOp op = client_.AcquireOf(
        key, {.insert = Body::FromText("{}"), .mode = LockMode::kShared, .max_holders = 10});
    return op;
  }
  /// Returns whether an allocation failed.
  bool Play(std::int64_t n) {
    const std::string number = std::to_string(n);
    const Key first("first " + number), second("second " + number), third("third " + number),
        fourth("fourth " + number);
    const AcquireOp held = client_.Create(third, R"({"a":1})");
    AcquireOp shared = Share(fourth);
    client_.Execute(shared);
    AcquireOp acquire = client_.AcquireOf(first, {.insert = Body::FromText("{}")});
    SaveOp insert = client_.SaveOf(SaveKind::kInsert, second, kAnyVersion, {}, NewBody());
    WriteOp release =
        client_.ReleaseOf(third, held.request.grant.lock_id,
                          {.expected = held.result.version, .body = Body::FromText(R"({"a":2})")});
    AcquireOp share = Share(fourth);
    share.request.insert = {};
    StoreOp* const all[] = {&acquire, &insert, &release, &share};
    const bool is_full = GetParam() == Failing::kFullDisk;
    FaultyFiles::write_error = is_full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    FaultyFiles::failing_writes = is_full || GetParam() == Failing::kCommit ? 1
                                  : GetParam() == Failing::kEachCommit      ? 1000
                                                                            : 0;
    const bool failed = ExecuteFailing(client_, all, n);
    FaultyFiles::failing_writes = 0;
    ExpectTold(acquire, others_.Read(first).result.lock_id == acquire.request.grant.lock_id);
    ExpectTold(insert, others_.Read(second).status == OpStatus::kDone);
    ExpectTold(release, others_.Read(third).result.released == held.request.grant.lock_id);
    ExpectTold(share,
               others_.RenewShare(fourth, share.request.grant.lock_id).status == OpStatus::kDone);
    return failed;
  }

  FaultyFiles files_;
  test::TempFolder folder_;
  sqlite_test::Client client_{folder_ / "things.db", Options()};
  sqlite_test::Client others_{folder_ / "things.db"};
};

TEST_P(SqliteAllocation, NothingIsToldThatIsNotThere) {
  ASSERT_FALSE(Play(1'000'000)) << "what is kept from call to call is made";
  std::int64_t n = 1;
  for (bool more = true; more && !HasFailure(); ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    more = Play(n);
  }
}

INSTANTIATE_TEST_SUITE_P(Failing, SqliteAllocation,
                         ::testing::Values(Failing::kNothing, Failing::kFullDisk, Failing::kCommit,
                                           Failing::kEachCommit, Failing::kOneThatIsTooLarge));

}  // namespace
}  // namespace doclock::allocation_test
