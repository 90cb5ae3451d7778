/// An entity whose key is a member of type Key.

#include "doclock/json/key.h"
#include "repository/support/harness.h"

namespace doclock {
namespace {

struct Item {
  Key id;
  int n = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Item, id, n)

class KeyMemberTest : public RepositoryTest {
 protected:
  LockingRepository<Item> items{manager, "items"};
};
DOCLOCK_FOR_ALL_STORES(KeyMemberTest);

TEST_P(KeyMemberTest, IsTheKeyInItsOwnType) {
  Uuid uuid{};
  uuid.data[0] = 1;
  const std::vector<Key> keys{
      "a", 5, ObjectId{}, uuid, "01000000-0000-0000-0000-000000000000", "{\"$oid\": 1}", "5"};
  for (const Key& key : keys) {
    SCOPED_TRACE(key.ToString());
    items.Insert(Item{key, 1});
    auto found = items.Find(key).value();
    EXPECT_EQ(found->id, key);
    ++found->n;
    items.Save(found);
    auto held = items.Lock(Item{key});
    EXPECT_EQ(held->id, key);
    ++held->n;
    held.Release();
    items.Update(key, [&](Item& item) { EXPECT_EQ(item.id, key); });
    EXPECT_EQ(Stored(key, "items"), json({{"n", 3}}));
  }
  EXPECT_EQ(items.Find(Filter{}.Equal("n", 3)).size(), keys.size());
}

}  // namespace
}  // namespace doclock
