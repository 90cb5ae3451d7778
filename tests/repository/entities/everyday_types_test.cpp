/// An entity of everyday members, in every store: what is written is what is read, filtered and
/// merged.

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "doclock/json_types.h"
#include "repository/support/harness.h"

namespace doclock {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

BOOST_DEFINE_ENUM_CLASS(Stage, kOpen, kShipped)

struct ByPost {
  static constexpr std::string_view kTag = "post";
  std::string address;
  friend bool operator==(const ByPost&, const ByPost&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ByPost, address)

struct Pickup {
  static constexpr std::string_view kTag = "pickup";
  int shop = 0;
  friend bool operator==(const Pickup&, const Pickup&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Pickup, shop)

struct Parcel {
  Uuid id{};
  std::optional<std::string> note;
  std::optional<int> weight;
  std::chrono::system_clock::time_point due{};
  std::chrono::minutes patience{};
  Stage stage = Stage::kOpen;
  std::variant<ByPost, Pickup> way;
  std::filesystem::path label;
  Uuid customer{};
  Key order;
  friend bool operator==(const Parcel&, const Parcel&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Parcel, id, note, weight, due, patience, stage, way, label,
                                   customer, order)

Parcel SampleParcel() {
  Parcel parcel;
  parcel.id = NewUuid();
  parcel.weight = 3;
  parcel.due = std::chrono::system_clock::time_point(1'700'000'000'123ms);
  parcel.patience = 5min;
  parcel.way = Pickup{12};
  parcel.label = "labels/1.pdf";
  parcel.customer = NewUuid();
  parcel.order = Key(NewUuid());
  return parcel;
}

class EverydayTypesTest : public RepositoryTest {
 protected:
  LockingRepository<Parcel> parcels{manager, "parcels"};
};
DOCLOCK_FOR_ALL_STORES(EverydayTypesTest);

TEST_P(EverydayTypesTest, ComeBackAsTheyWere) {
  Parcel parcel = SampleParcel();
  parcels.Insert(parcel);
  EXPECT_EQ(*(*parcels.Find(parcel.id)), parcel);
  auto held = parcels.Lock(parcel.id);
  held->note = "fragile";
  held->weight.reset();
  held->stage = Stage::kShipped;
  held->way = ByPost{"Main Street 1"};
  const Parcel changed = *held;
  held.Release();
  EXPECT_EQ(*(*parcels.Find(parcel.id)), changed);
}

TEST_P(EverydayTypesTest, AnUnreadableMemberIsNamed) {
  const Parcel parcel = SampleParcel();
  const LockingRepository<json> raw(manager, "parcels");
  const auto why = [&](const std::function<void(json&)>& spoil) -> std::string {
    json tree = parcel;
    tree.erase("id");
    spoil(tree);
    raw.With({Key(parcel.id), json::object()}, [&](json& stored) { stored = tree; });
    try {
      (void)parcels.Find(parcel.id);
    } catch (const DocumentException& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(why([](json& tree) { tree["stage"] = "kLost"; }), HasSubstr("'stage'"));
  EXPECT_THAT(why([](json& tree) { tree["stage"] = 7; }), HasSubstr("'stage'"));
  EXPECT_THAT(why([](json& tree) { tree["way"]["type"] = "ship"; }), HasSubstr("'way.type'"));
  EXPECT_THAT(why([](json& tree) { tree["way"] = 7; }), HasSubstr("'way'"));
  EXPECT_THAT(why([](json& tree) { tree["patience"] = 1.5; }), HasSubstr("'patience'"));
}

TEST_P(EverydayTypesTest, FiltersCompareTimesAndNames) {
  const Parcel parcel = SampleParcel();
  parcels.Insert(parcel);
  const auto found = [&](const Filter& filter) { return parcels.Find(filter).size(); };
  EXPECT_EQ(found(Filter().AtLeast("due", Date(parcel.due))), 1U);
  EXPECT_EQ(found(Filter().AtLeast("due", Date(parcel.due + 1ms))), 0U);
  EXPECT_EQ(found(Filter().Equal("stage", "kOpen")), 1U);
  EXPECT_EQ(found(Filter().Equal("way.shop", 12)), 1U);
}

}  // namespace
}  // namespace doclock
