#include <boost/uuid/string_generator.hpp>

#include "repository/support/harness.h"

namespace doclock {
namespace {

class EntityTest : public RepositoryTest {};
DOCLOCK_FOR_ALL_STORES(EntityTest);

TEST_P(EntityTest, TheKeyIsNotRepeatedInTheBody) {
  sagas.Insert(Saga{"42", "new", 1});
  EXPECT_EQ(Stored("42"), json({{"step", "new"}, {"attempts", 1}}));
  EXPECT_EQ((*sagas.Find("42"))->id, "42");
}

TEST_P(EntityTest, AnotherKeyThanTheEntitysIsRefused) {
  EXPECT_THROW((void)sagas.Lock({"42", Saga{"43"}}), std::invalid_argument);
  EXPECT_THROW((void)sagas.Lock({"42", Saga{}}), std::invalid_argument);
  EXPECT_THROW((void)sagas.LockAsync({"42", Saga{"43"}}), std::invalid_argument);
  EXPECT_THROW(sagas.Insert("42", Saga{"43"}), std::invalid_argument);
  EXPECT_FALSE(Stored("42"));
}

TEST_P(EntityTest, PrivateMembersAnotherKeyAndNoDefaultConstructor) {
  LockingRepository<Account> accounts(manager, "accounts");
  auto account = accounts.Lock(Account(7, 100));
  EXPECT_EQ(account.key(), Key(7));
  account->Deposit(5);
  account.Release();
  EXPECT_EQ(Stored(7, "accounts"), json({{"balance", 105}}));
  EXPECT_EQ((*accounts.Find(7))->balance(), 105);
  EXPECT_EQ((*accounts.Find(7))->number(), 7);
}

TEST_P(EntityTest, AnImmovableType) {
  static_assert(Entity<Machine> && !KeyedEntity<Machine> && !std::move_constructible<Machine>);
  LockingRepository<Machine> machines(manager, "machines");
  auto machine = machines.Lock({"m", Machine("off")});
  auto moved = std::move(machine);
  moved->state = "on";
  moved.Release();
  EXPECT_EQ((*machines.Find("m"))->state, "on");
  machines.Update("m", [](Machine& m) { m.state = "off"; });
  EXPECT_EQ(machines.Find(Filter{}).at(0)->state, "off");
  EXPECT_EQ(Get(machines.LockAsync("m"))->state, "off");
}

TEST_P(EntityTest, KeysOfEveryType) {
  const auto uuid = boost::uuids::string_generator{}("0b8f2f0e-4a5c-4a43-9a0f-0a8d3c1b2e4f");
  LockingRepository<ByUuid> by_uuid(manager, "uuids");
  by_uuid.Lock(ByUuid{uuid, 1}).Release();
  EXPECT_EQ((*by_uuid.Find(uuid))->id, uuid);
  EXPECT_EQ(Stored(uuid, "uuids"), json({{"n", 1}}));

  const ObjectId oid{{1, 2, 3, 250}};
  LockingRepository<ByObjectId> by_oid(manager, "oids");
  by_oid.Lock({oid, ByObjectId{oid, 2}}).Release();
  EXPECT_EQ((*by_oid.Find(oid))->id, oid);

  LockingRepository<ByNumber> by_number(manager, "numbers");
  by_number.Lock({0, ByNumber{0, 3}}).Release();
  by_number.Lock({-5L, ByNumber{-5, 4}}).Release();
  EXPECT_EQ((*by_number.Find(0))->n, 3);
  EXPECT_EQ((*by_number.Find(-5))->id, -5);
}

TEST_P(EntityTest, JsonItselfIsAnEntity) {
  LockingRepository<json> raw(manager, "raw");
  const json body = {{"id", "not the key"}, {"a", {1, 2, {{"b", nullptr}}}}};
  auto handle = raw.Lock({"k", body});
  EXPECT_EQ(*handle, body);
  (*handle)["c"] = 3;
  handle->erase("a");
  handle.Release();
  EXPECT_EQ(**raw.Find("k"), json({{"id", "not the key"}, {"c", 3}}));
  EXPECT_THROW((void)raw.Lock({"x", json("text")}), DocumentException);
  EXPECT_FALSE(raw.Find("x"));
}

TEST_P(EntityTest, AnOldBodyIsUpgraded) {
  Put("1", {{"name", "Ada Lovelace"}, {"foreign", 1}}, "people");
  LockingRepository<Person> people(manager, "people");
  EXPECT_EQ((*people.Find("1"))->last, "Lovelace");
  auto person = people.Lock("1");
  EXPECT_EQ(person->first, "Ada");
  EXPECT_EQ(person->id, "1");
  person.Release();
  EXPECT_EQ(Stored("1", "people"), json({{"first", "Ada"}, {"last", "Lovelace"}, {"foreign", 1}}));
}

TEST_P(EntityTest, AnUpgradeThatThrowsLeavesTheDocumentAlone) {
  const json body = {{"name", "Plato"}};
  Put("1", body, "people");
  LockingRepository<Person> people(manager, "people");
  EXPECT_THROW((void)people.Lock("1"), DocumentException);
  EXPECT_THROW((void)people.Find("1"), DocumentException);
  clock->RunPending();
  EXPECT_EQ(Stored("1", "people"), body);
  EXPECT_FALSE(IsLocked("1", "people"));
}

TEST_P(EntityTest, ABodyThatTCannotReadIsUnlockedAndUnchanged) {
  const json body = {{"step", 7}};
  Put("42", body);
  const auto version = Version("42");
  const auto error = ThrownBy<DocumentException>([&] { (void)sagas.Lock("42"); });
  EXPECT_NE(std::string(error.what()).find("42"), std::string::npos);
  ASSERT_TRUE(error.document());
  EXPECT_EQ(error.document()->collection, "sagas");
  EXPECT_THROW((void)sagas.TryLock("42"), DocumentException);
  EXPECT_THROW((void)Get(sagas.LockAsync("42")), DocumentException);
  EXPECT_THROW((void)sagas.Find("42"), DocumentException);
  const auto next = ThrownBy<DocumentException>([&] { (void)sagas.LockNext(Filter{}); });
  ASSERT_TRUE(next.document()) << "which one to put aside";
  EXPECT_EQ(next.document()->key, Key("42"));
  clock->RunPending();
  EXPECT_FALSE(IsLocked("42"));
  EXPECT_EQ(Stored("42"), body);
  EXPECT_GE(Version("42"), version);
}

}  // namespace
}  // namespace doclock
