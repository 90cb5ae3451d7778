#include "doclock/update.h"

#include "repository/support/harness.h"

namespace doclock {
namespace {

struct Purse {
  std::string id = {};
  int balance = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Purse, id, balance)

struct Receipt {
  std::string id = {};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Receipt, id)

class ReadAtOnceTest : public RepositoryTest {
 protected:
  LockingRepository<Purse> accounts{manager, "accounts"};
  LockingRepository<Receipt> notes{manager, "notes"};
};
DOCLOCK_FOR_ALL_STORES(ReadAtOnceTest);

TEST_P(ReadAtOnceTest, ShowsDocumentsOfSeveralRepositories) {
  accounts.Insert(Purse{"a", 5});
  notes.Insert(Receipt{"n"});
  const auto held = accounts.Lock("a");
  const auto [a, b, n, again] =
      Read(accounts.At("a"), accounts.At("b"), notes.At("n"), accounts.At("a"));
  ASSERT_TRUE(a && n && again);
  EXPECT_EQ((*a)->balance, 5);
  EXPECT_TRUE(a->locked());
  EXPECT_EQ((*n)->id, "n");
  EXPECT_EQ(again->version(), a->version());
  EXPECT_FALSE(b);
}

TEST_P(ReadAtOnceTest, RefusesADocumentOfAnotherManager) {
  const LockManager other(OpenMemoryStore());
  const LockingRepository<Receipt> others(other, "notes");
  EXPECT_THROW((void)Read(accounts.At("a"), others.At("n")), std::invalid_argument);
}

}  // namespace
}  // namespace doclock
