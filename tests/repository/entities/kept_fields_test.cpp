/// Fields that T does not know, below the top level.

#include "repository/support/harness.h"

namespace doclock {
namespace {

struct Address {
  std::string city = {};
  std::optional<std::string> street = {};
};
void to_json(json& out, const Address& a) {
  out = {{"city", a.city}};
  if (a.street) out["street"] = *a.street;
}
void from_json(const json& in, Address& a) {
  a.city = in.value("city", "");
  if (in.contains("street")) a.street = in["street"].get<std::string>();
}
struct Customer {
  std::string id;
  int visits = 0;
  Address address = {};
  std::vector<Address> others = {};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Customer, id, visits, address, others)

class KeptFieldsTest : public RepositoryTest {
 protected:
  KeptFieldsTest() { Put("1", before); }
  json After() { return Stored("1", "sagas").value(); }

  const json before = {{"visits", 1},
                       {"vip", true},
                       {"address", {{"city", "X"}, {"street", "S"}, {"zip", "123"}}},
                       {"others", {{{"city", "Y"}, {"zip", "9"}}}}};
  LockingRepository<Customer> customers{manager, "sagas"};
};
DOCLOCK_FOR_ALL_STORES(KeptFieldsTest);

TEST_P(KeptFieldsTest, StayWithEveryVerbThatWrites) {
  const auto visit = [](Customer& c) { ++c.visits; };
  customers.With("1", visit);
  customers.Update("1", visit);
  Get(customers.UpdateAsync("1", visit));
  auto held = customers.Lock("1");
  visit(*held);
  held.Save();
  visit(*held);
  held.Release();
  auto found = customers.Find("1").value();
  visit(*found);
  customers.Save(found);
  json expected = before;
  expected["visits"] = 7;
  EXPECT_EQ(After(), expected);
}

TEST_P(KeptFieldsTest, StayWhenTheOnesOfTDisappearWithEveryVerbThatWrites) {
  const LockingRepository<Note> notes(manager, "sagas");
  const auto expect_gone = [&](const auto& write) {
    sagas.Erase("1");
    Put("1", {{"note", "text"}, {"foreign", 1}});
    write();
    EXPECT_EQ(After(), json({{"foreign", 1}}));
  };
  const auto forget = [](Note& note) { note.note.reset(); };
  const auto with_snapshot = [&](const auto& save) {
    return [&, save] {
      auto found = notes.Find("1").value();
      forget(*found);
      save(found);
    };
  };
  expect_gone([&] { notes.With("1", forget); });
  expect_gone([&] { notes.Update("1", forget); });
  expect_gone([&] { Get(notes.UpdateAsync("1", forget)); });
  expect_gone(with_snapshot([&](auto& note) { notes.Save(note); }));
  expect_gone(with_snapshot([&](auto& note) { Get(notes.SaveAsync(note)); }));
  expect_gone(with_snapshot([&](auto& note) { EXPECT_TRUE(notes.TrySave(note)); }));
  expect_gone([&] {
    auto note = notes.Lock("1");
    forget(*note);
    note.Save();
    note->note = "again";
    note.Save();
    EXPECT_EQ(After(), json({{"note", "again"}, {"foreign", 1}}));
    forget(*note);
    note.Release();
  });
}

TEST_P(KeptFieldsTest, StayBesideOnesThatChangeAndAreRemoved) {
  customers.With("1", [](Customer& c) {
    c.address.city = "Z";
    c.address.street.reset();
  });
  EXPECT_EQ(After().at("address"), json({{"city", "Z"}, {"zip", "123"}}));
}

TEST_P(KeptFieldsTest, GoWithAnArrayThatChanges) {
  customers.With("1", [](Customer& c) { c.others.push_back({"Z"}); });
  EXPECT_EQ(After().at("others"), json({{{"city", "Y"}}, {{"city", "Z"}}}));
}

}  // namespace
}  // namespace doclock
