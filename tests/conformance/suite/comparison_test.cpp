#include "doclock/json/bson.h"
#include "doclock/json/uuid.h"
#include "doclock/open_store.h"
#include "store_conformance.h"
#include "typed_values.h"

namespace doclock::conformance {
namespace {

/// Values whose comparison stores could disagree on. Decimals are not among them: MongoDB compares
/// them with numbers, as the documents say.
std::vector<Json> ComparedValues() {
  return {nullptr,
          0,
          -0.0,
          1,
          1.0,
          0.1,
          0.30000000000000004,
          -1.5,
          1e300,
          5e-324,
          std::int64_t{1} << 53,
          (std::int64_t{1} << 53) + 1,
          INT64_MAX,
          INT64_MIN,
          "",
          " ",
          "a",
          "A",
          "ab",
          std::string("a\0b", 3),
          "\1",
          "\\u0000",
          "1",
          "true",
          "null",
          "[1]",
          "{\"a\":1}",
          "\xc3\xa4",
          "\xf0\x9f\x98\x80",
          "\xef\xbf\xbd",
          true,
          false,
          At(0),
          At(-1),
          At(1'700'000'000'000),
          Binary{},
          Binary{{0}, 0},
          Binary{{0}, 5},
          Binary{{1}, 0},
          Binary{{0, 0}, 0},
          Oid(1),
          Json::array(),
          Json::array({1}),
          Json::array({"a", nullptr}),
          Json{{"a", 1}, {"b", 2}},
          Json{{"b", 2}, {"a", 1}},
          Json{{"a", nullptr}},
          Json{{"$symbol", "a"}},
          Json{{"$code", "a"}},
          Json{{"$code", "a"}, {"$scope", Json::object()}},
          Json{{"$regularExpression", {{"options", ""}, {"pattern", "a"}}}},
          Json{{"$timestamp", {{"i", 1}, {"t", 0}}}},
          Json{{"$minKey", 1}},
          Json{{"$maxKey", 1}},
          Json{{"$undefined", true}}};
}

Filter Compared(Filter::Op op, const Json& value) {
  Filter filter;
  switch (op) {
    case Filter::Op::kEqual:
      return filter.Equal("v", value);
    case Filter::Op::kNotEqual:
      return filter.NotEqual("v", value);
    case Filter::Op::kLess:
      return filter.Less("v", value);
    case Filter::Op::kAtMost:
      return filter.AtMost("v", value);
    case Filter::Op::kGreater:
      return filter.Greater("v", value);
    case Filter::Op::kAtLeast:
      return filter.AtLeast("v", value);
    case Filter::Op::kDue:
      break;
  }
  return filter.Due("v");
}

bool IsComparable(const Json& value) {
  try {
    static_cast<void>(Compared(Filter::Op::kEqual, value));
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

/// Compares what searches find with what they find in the model.
void ExpectAsIn(Client& model, Client& things, const Json& values) {
  for (const Json& value : values) {
    if (!IsComparable(value)) continue;
    for (const Filter::Op op : {Filter::Op::kEqual, Filter::Op::kNotEqual, Filter::Op::kLess,
                                Filter::Op::kAtMost, Filter::Op::kGreater, Filter::Op::kAtLeast}) {
      EXPECT_EQ(things.Query(Compared(op, value)), model.Query(Compared(op, value)))
          << "condition " << static_cast<int>(op) << " with " << value;
    }
  }
  for (const Filter& filter :
       {Filter().OrderBy("v"), Filter().OrderByDescending("v"), Filter().Due("v")}) {
    EXPECT_EQ(things.Query(filter), model.Query(filter)) << filter.descending();
  }
}

TEST_P(StoreConformance, EveryValueComparesAsInMemory) {
  const auto memory = OpenMemoryStore();
  Client model = Client(memory);
  const Json values = backend().Kept(ComparedValues());
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (Client* client : {&model, &things_}) {
      ASSERT_EQ(client->Insert(i, {{"v", values[i]}}).status, OpStatus::kDone) << values[i];
    }
  }
  for (const bool indexed : {false, true}) {
    if (indexed) things_.EnsureIndex({{"v"}});
    ExpectAsIn(model, things_, values);
  }
}

}  // namespace
}  // namespace doclock::conformance
