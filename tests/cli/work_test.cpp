#include <nlohmann/json.hpp>

#include "cli/harness.h"
#include "doclock/stores/sqlite.h"
#include "doclock/worker.h"

namespace doclock::cli_test {

struct Parcel {
  std::string id;
  Attempts attempts = {};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Parcel, id, attempts)

namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// Documents of a worker in every state.
class WorkCommandTest : public CliTest {
 protected:
  void SetUp() override {
    const LockManager manager(OpenSqliteStore(folder / "locks.db"));
    const LockingRepository<Parcel> parcels(manager, "parcels");
    for (const char* const id : {"done", "parked", "later", "due"}) parcels.Insert(Parcel{id});
    const auto step = [](Parcel& parcel) {
      if (parcel.id == "parked") throw std::logic_error("no route");
      return parcel.id == "done" ? Next::Done() : Next::After(std::chrono::hours(1));
    };
    for (const char* const id : {"done", "parked", "later"}) {
      Worker<Parcel>(parcels, &Parcel::attempts, Filter().Equal("id", id), step, {.threads = 0})
          .RunOne();
    }
    LockingRepository<json>(manager, "parcels").Insert("old", json::object());
  }
};

TEST_F(WorkCommandTest, ShowsTheStatesAndWhatIsParked) {
  const Ended shown = Doclock({"work", "parcels"});
  EXPECT_THAT(shown.out, HasSubstr("due 1, waiting 1, locked 0, parked 2, done 1\n"));
  EXPECT_THAT(shown.out, HasSubstr("parked parked, failures 1, interruptions 0: no route\n"));
  EXPECT_THAT(shown.out, HasSubstr("parked old, failures 0, interruptions 0: the document has no"));
  const json all = json::parse(Doclock({"work", "--json", "parcels"}).out);
  EXPECT_EQ(all.at("done"), 1);
  EXPECT_EQ(all.at("documents").at(1).at("key"), "parked");
  const Ended none = Doclock({"work", "--attempts", "work.tries", "parcels"});
  EXPECT_THAT(none.out, HasSubstr("due 0, waiting 0, locked 0, parked 5, done 0\n"));
  EXPECT_EQ(Doclock({"work", "--attempts", "", "parcels"}).code, 64);
}

TEST_F(WorkCommandTest, RetriesAndDrops) {
  EXPECT_EQ(Doclock({"work", "--retry", "parcels"}).out, "retried 1\n");
  const Ended nothing = Doclock({"work", "--retry", "parcels", "parked"});
  EXPECT_EQ(nothing.out, "retried 0\n");
  EXPECT_EQ(nothing.code, 66);
  EXPECT_THAT(nothing.err, HasSubstr("document 'parked' (--key-type string) of 'parcels' is not"));
  EXPECT_EQ(Doclock({"work", "--drop", "parcels", "due"}).code, 66);
  EXPECT_THAT(Doclock({"work", "parcels"}).out, HasSubstr("parked 1"));  // it has no attempts
  EXPECT_EQ(Doclock({"work", "--retry", "parcels", "old"}).out, "retried 1\n");
  EXPECT_THAT(Doclock({"work", "parcels"}).out, HasSubstr("due 3, waiting 1, locked 0, parked 0"));
  EXPECT_EQ(Doclock({"work", "parcels", "due"}).code, 64);
}

}  // namespace
}  // namespace doclock::cli_test
