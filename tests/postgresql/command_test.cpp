// The command `doclock` over PostgreSQL.

#ifdef DOCLOCK_CLI

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "cli/program.h"
#include "postgresql/support/raw_server.h"

namespace doclock::postgresql_test {
namespace {

using cli_test::Ended;
using ::testing::HasSubstr;
using ::testing::Not;

class PostgresqlCommand : public ::testing::Test {
 protected:
  Ended Doclock(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), DOCLOCK_CLI);
    return cli_test::Program(arguments, {"DOCLOCK_STORE=" + schema_.url()}).Wait();
  }

  Schema schema_;
};

TEST_F(PostgresqlCommand, ListsCollectionsAndExaminesTheServer) {
  EXPECT_EQ(Doclock({"collections"}).out, "");
  ASSERT_EQ(Doclock({"run", "job", "--", "true"}).code, 0);
  EXPECT_EQ(Doclock({"collections"}).out, "doclock_locks\n");
  const Ended doctor = Doclock({"doctor"});
  for (const char* check : {"ok       collection", "ok       locks", "ok       server: PostgreSQL",
                            "ok       privileges"}) {
    EXPECT_THAT(doctor.out, HasSubstr(check)) << doctor.err;
  }
  EXPECT_THAT(Doclock({"status"}).out, Not(HasSubstr("job")));
}

TEST_F(PostgresqlCommand, NamesAMissingCollectionAndCreatesNone) {
  using Arguments = std::vector<std::string>;
  for (const Arguments& arguments :
       {Arguments{"list", "orders"}, {"export", "orders"}, {"outbox", "orders"}}) {
    const Ended ended = Doclock(arguments);
    EXPECT_EQ(ended.code, 66) << arguments.front();
    EXPECT_THAT(ended.err, HasSubstr("the store has no collection ")) << arguments.front();
  }
  EXPECT_EQ(Doclock({"status"}).code, 0);
  EXPECT_EQ(Doclock({"purge"}).code, 0);
  EXPECT_EQ(Doclock({"collections"}).out, "");
}

}  // namespace
}  // namespace doclock::postgresql_test

#endif
