/// Everyday members of an entity as JSON: `doclock/json_types.h`.

#include "doclock/json_types.h"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace doclock {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

BOOST_DEFINE_ENUM_CLASS(State, kNew, kPaid)

struct Card {
  static constexpr std::string_view kTag = "card";
  std::string number;
  friend bool operator==(const Card&, const Card&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Card, number)

struct Cash {
  static constexpr std::string_view kTag = "cash";
  friend bool operator==(const Cash&, const Cash&) = default;
};

struct BadAlternative {
  static constexpr std::string_view kTag = "bad";
  std::string type;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BadAlternative, type)

using Payment = std::variant<Card, Cash>;

struct Everything {
  std::optional<std::string> note;
  std::optional<int> nothing;
  std::chrono::system_clock::time_point at{};
  std::chrono::sys_seconds since{};
  std::chrono::seconds patience{};
  std::chrono::duration<double> weight{};
  State state = State::kNew;
  Payment payment;
  std::filesystem::path file;
  Uuid id{};
  Key other;
  std::vector<std::optional<Key>> keys;
  friend bool operator==(const Everything&, const Everything&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Everything, note, nothing, at, since, patience, weight, state,
                                   payment, file, id, other, keys)

Everything Sample() {
  Everything sample;
  sample.note = "left at the door";
  sample.at = std::chrono::system_clock::time_point(1'700'000'000'123ms);
  sample.since = std::chrono::sys_seconds(-5s);
  sample.patience = 90s;
  sample.weight = std::chrono::duration<double>(0.25);
  sample.state = State::kPaid;
  sample.payment = Card{"4242"};
  sample.file = "orders/42.json";
  sample.id = NewUuid();
  sample.other = Key(NewUuid());
  sample.keys = {Key("text"), Key(-7), Key(ObjectId{{1, 2, 3}}), std::nullopt};
  return sample;
}

TEST(JsonTypes, ComeBackAsTheyWere) {
  const Everything sample = Sample();
  EXPECT_EQ(json::parse(json(sample).dump()).get<Everything>(), sample);
}

TEST(JsonTypes, HaveTheFormsTheirHeadersState) {
  Everything sample = Sample();
  sample.other = "order-1";
  const json tree = sample;
  EXPECT_EQ(tree["note"], "left at the door");
  EXPECT_TRUE(tree["nothing"].is_null());
  EXPECT_EQ(tree["at"], json::parse(R"({"$date": {"$numberLong": "1700000000123"}})"));
  EXPECT_EQ(tree["patience"], 90);
  EXPECT_EQ(tree["weight"], 0.25);
  EXPECT_EQ(tree["state"], "kPaid");
  EXPECT_EQ(tree["payment"], json::parse(R"({"type": "card", "number": "4242"})"));
  EXPECT_EQ(tree["file"], "orders/42.json");
  EXPECT_EQ(tree["other"], "order-1");
  EXPECT_EQ(tree["keys"][1], -7);
}

TEST(JsonTypes, ATimeIsCutToMilliseconds) {
  const std::chrono::system_clock::time_point fine(1'700'000'000'123'999us);
  EXPECT_EQ(json(fine).get<std::chrono::system_clock::time_point>(),
            std::chrono::system_clock::time_point(1'700'000'000'123ms));
}

TEST(JsonTypes, ATimeBefore1970IsCutToTheDayBefore) {
  const std::chrono::sys_time<std::chrono::hours> noon(-12h);
  EXPECT_EQ(json(noon).get<std::chrono::sys_days>(), std::chrono::sys_days(std::chrono::days(-1)));
}

TEST(JsonTypes, ADurationThatDoesNotFitIsRefused) {
  using Narrow = std::chrono::duration<std::int32_t>;
  EXPECT_EQ(json(-5).get<Narrow>(), Narrow(-5));
  for (const char* text : {"2.9", "5000000000", "1e300", "18446744073709551615", "\"5\""}) {
    EXPECT_THROW((void)json::parse(text).get<Narrow>(), std::invalid_argument) << text;
  }
}

std::string WhatOf(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(JsonTypes, AnUnknownNameIsAnErrorThatTellsTheKnownOnes) {
  EXPECT_THAT(WhatOf([] { (void)json("kLost").get<State>(); }), HasSubstr("kNew, kPaid"));
  EXPECT_THAT(WhatOf([] { (void)json(static_cast<State>(9)); }), HasSubstr("9"));
}

TEST(JsonTypes, AnUnknownTagIsAnErrorThatTellsTheKnownOnes) {
  EXPECT_THAT(WhatOf([] { (void)json::parse(R"({"type": "gold"})").get<Payment>(); }),
              HasSubstr("card, cash"));
  EXPECT_THROW((void)json::object().get<Payment>(), JsonValueError);
  EXPECT_THROW((void)json(5).get<Payment>(), JsonValueError);
  EXPECT_EQ(std::get<Cash>(json(Payment(Cash())).get<Payment>()), Cash());
  EXPECT_THAT(WhatOf([] { (void)json(std::variant<Cash, BadAlternative>(BadAlternative())); }),
              HasSubstr("'bad'"));
}

TEST(JsonTypes, WhatIsNoKeyIsRefused) {
  for (const char* text :
       {"true", "1.5", "null", "{}", "[]", R"({"$oid": "xyz"})",
        R"({"$binary": {"base64": "AA==", "subType": "00"}})", "18446744073709551615"}) {
    EXPECT_THROW((void)json::parse(text).get<Key>(), std::invalid_argument) << text;
  }
}

TEST(JsonTypes, KeysKeepTheirType) {
  const Uuid id = NewUuid();
  for (const Key& key : {Key(id), Key(ToText(id)), Key(1), Key("1"), Key("")}) {
    EXPECT_EQ(json(key).get<Key>(), key) << key.ToString();
  }
}

TEST(JsonTypes, LockFieldsTravel) {
  LockFields fields{NewUuid(), std::chrono::system_clock::time_point(5ms), 7};
  EXPECT_EQ(json::parse(json(fields).dump()).get<LockFields>(), fields);
  fields = {std::nullopt, std::nullopt, 8};
  EXPECT_EQ(json(fields), json::parse(R"({"id": null, "time": null, "version": 8})"));
  EXPECT_EQ(json(fields).get<LockFields>(), fields);
}

TEST(JsonTypes, LockFieldsOfAnotherFormLeaveTheOldOnes) {
  const LockFields before{NewUuid(), std::nullopt, 3};
  for (const char* text : {"{}", R"({"id": "x", "time": null, "version": 1})",
                           R"({"id": null, "time": 5, "version": 1})"}) {
    LockFields fields = before;
    EXPECT_ANY_THROW(json::parse(text).get_to(fields)) << text;
    EXPECT_EQ(fields, before) << text;
  }
}

}  // namespace
}  // namespace doclock
