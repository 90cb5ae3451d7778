#include "doclock/locking_repository.h"
#include "named/harness.h"

namespace doclock::named {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<std::string> NamesOf(const std::vector<LockStatus>& locks) {
  std::vector<std::string> names;
  for (const LockStatus& lock : locks) names.push_back(lock.name);
  return names;
}

class GroupsTest : public NamedTest {
 protected:
  /// Three locks of the group "g", a second apart, and two others.
  void SetUp() override {
    for (const char* name : {"a", "b", "c"}) {
      held.push_back(jobs.Acquire(name, {.ttl = 1min, .renew = false, .group = "g"}));
      clock->Advance(1s);
    }
    held.push_back(jobs.Acquire("other", {.renew = false, .group = "h"}));
    held.push_back(jobs.Acquire("none", {.renew = false}));
  }
  const LockProvider others{AnotherManager(), "jobs"};
  std::vector<HeldLock> held;
};
DOCLOCK_FOR_ALL_STORES(GroupsTest);

TEST_P(GroupsTest, LocksOfDocumentsHaveGroupsToo) {
  const LockingRepository<nlohmann::json> documents(manager, "documents");
  auto document = documents.Lock({"1", nlohmann::json{{"n", 1}}}, {.group = "g"});
  (*document)["n"] = 2;
  const auto renewed = documents.Admin().RenewGroup("g", 10min);
  EXPECT_THAT(NamesOf(renewed), ElementsAre("1"));
  EXPECT_EQ(renewed[0].ttl, 10min);
  EXPECT_THAT(NamesOf(documents.Admin().ReleaseGroup("g")), ElementsAre("1"));
  EXPECT_EQ(CodeOf([&] { document.Release(); }), Errc::kLost);
  EXPECT_EQ((**documents.Find("1"))["n"], 1);
}

TEST_P(GroupsTest, ReleaseGroupTellsHowTheLocksWere) {
  const auto fence = held[1].fence();
  const auto released = others.Admin().ReleaseGroup("g");
  ASSERT_EQ(released.size(), 3U);
  EXPECT_EQ(released[1].name, "b");
  EXPECT_EQ(released[1].group, "g");
  EXPECT_EQ(released[1].version, fence);
  EXPECT_FALSE(released[1].expired);
  EXPECT_GT(released[1].remaining, 50s);
  EXPECT_FALSE(released[1].holder.name.empty());
}

TEST_P(GroupsTest, AFailedReleaseIsNeverReportedAsSuccess) {
  store->Inject({.kind = Fault::Kind::kErrorBefore, .op = OpKind::kWrite, .key = Key("b")});
  const auto error = ThrownBy<GroupException>([&] { (void)others.Admin().ReleaseGroup("g"); });
  EXPECT_THAT(NamesOf(error.done()), ElementsAre("c", "a"));
  ASSERT_EQ(error.failed().size(), 1U);
  EXPECT_EQ(error.failed()[0].lock.name, "b");
  EXPECT_EQ(error.failed()[0].code, Errc::kUnavailable);
  EXPECT_THAT(error.what(), HasSubstr("'b'"));
  EXPECT_FALSE(IsFree("b"));
  EXPECT_TRUE(IsFree("a"));
}

TEST_P(GroupsTest, AFailedRenewalIsNeverReportedAsSuccess) {
  store->Inject({.kind = Fault::Kind::kLostBefore, .op = OpKind::kRenew, .key = Key("b")});
  const auto error = ThrownBy<GroupException>([&] { (void)others.Admin().RenewGroup("g"); });
  EXPECT_THAT(NamesOf(error.done()), UnorderedElementsAre("a", "c"));
  ASSERT_EQ(error.failed().size(), 1U);
  EXPECT_EQ(error.failed()[0].code, Errc::kInDoubt);
}

}  // namespace
}  // namespace doclock::named
