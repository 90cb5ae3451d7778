#include "content.h"

#include <vector>

#include "doclock/json/bson.h"
#include "doclock/json/uuid.h"
#include "doclock/time.h"

namespace doclock::conformance {
namespace {

constexpr int kFirstShape = 2;  // 0 and 1 are plain

Json DateAt(std::int64_t ms) { return Date(Date::TimePoint(std::chrono::milliseconds(ms))); }

/// The arrays have no element in common with each other, nor with other values: the store chooses
/// whether such values conflict (IndexSpec::unique).
const std::vector<Tag>& Tags() {
  using namespace std::string_literals;
  static const std::vector<Tag> kTags{{nullptr, 0},
                                      {1, 1},
                                      {1.0, 1},
                                      {true, 2},
                                      {"1", 3},
                                      {"", 4},
                                      {0, 5},
                                      {0.0, 5},
                                      {false, 6},
                                      {"a", 7},
                                      {"a\1b"s, 8},
                                      {"a\1c"s, 9},
                                      {"ä\u2028🌍", 10},
                                      {std::string(1200, 'x') + "1", 11},
                                      {std::string(1200, 'x') + "2", 12},
                                      {Json::array({10, 11}), 13},
                                      {Json::array({12}), 14},
                                      {Json::array(), 15},
                                      {Json::array({"[]", "t\1t"}), 16},
                                      {Json::array({Json::array({13}), {{"a", 1}}}), 17},
                                      {Json::object(), 18},
                                      {{{"a", 2}}, 19},
                                      {{{"a", {{"b", {1, 2}}}}}, 20},
                                      {DateAt(1), 21},
                                      {Decimal128("2.5"), 22},
                                      {Decimal128("3.5"), 23}};
  return kTags;
}

/// In no order; null in both columns of the tables stands for a field that is missing as well.
const std::vector<Json>& Dues() {
  static const std::vector<Json> kDues{nullptr, 1, 2, 1.5, "a", "b", "", false, true, DateAt(5)};
  return kDues;
}

/// What conditions compare with.
Json Compared(const Step& step) {
  const std::vector<Json> values{1, "a", true, DateAt(5)};
  return values.at(static_cast<std::size_t>(step.number / 10) % values.size());
}

Json ComparedTag(const Step& step) {
  using namespace std::string_literals;
  const std::vector<Json> values{1, "a\1b"s, 10, nullptr};
  return values.at(static_cast<std::size_t>(step.number / 10) % values.size());
}

}  // namespace

const Tag& TagOf(const Json& body) {
  if (!body.contains("tag")) return Tags().front();
  // As text: 1 and 1.0 are two tags.
  const std::string text = body.at("tag").dump();
  for (const Tag& tag : Tags()) {
    if (tag.value.dump() == text) return tag;
  }
  throw std::logic_error("no tag of a trace: " + text);
}

int ShapeOf(std::size_t due, std::size_t tag) {
  const std::size_t place = tag % Tags().size() * Dues().size() + due % Dues().size();
  return static_cast<int>(kFirstShape + place);
}

Json ContentOf(const Step& step) {
  if (step.shape == 1) return Json::object();
  Json body{{"value", step.number}};
  if (step.shape < kFirstShape) return body;
  const auto place = static_cast<std::size_t>(step.shape - kFirstShape);
  const Json& due = Dues().at(place % Dues().size());
  const Json& tag = Tags().at(place / Dues().size()).value;
  // What is null is missing at times.
  if (!due.is_null() || step.number % 2 != 0) body["due"] = due;
  if (!tag.is_null() || step.number % 2 != 0) body["tag"] = tag;
  return body;
}

Search SearchOf(const Step& step) {
  using Op = Filter::Op;
  using State = Filter::LockState;
  switch (step.number % 10) {
    case 1:
      return {.order = "due"};
    case 2:
      return {.order = "due", .descending = true};
    case 3:
      return {.condition = {{"due", Op::kEqual, Compared(step)}}};
    case 4:
      return {.condition = {{"due", Op::kAtLeast, Compared(step)}}, .order = "due"};
    case 5:
      return {
          .condition = {{"due", Op::kLess, Compared(step)}}, .order = "due", .descending = true};
    case 6:
      return {.condition = {{"due", Op::kNotEqual, Compared(step)}}, .order = "value"};
    case 7:
      return {.condition = {{"tag", Op::kEqual, ComparedTag(step)}}};
    case 8:
      return {.order = "due", .descending = true, .state = State::kFree};
    case 9:
      return {.state = State::kLocked};
    default:
      return {};
  }
}

Filter FilterOf(const Search& search) {
  Filter filter;
  if (search.condition) {
    const auto& [field, op, value] = *search.condition;
    switch (op) {
      case Filter::Op::kEqual:
        filter.Equal(field, value);
        break;
      case Filter::Op::kNotEqual:
        filter.NotEqual(field, value);
        break;
      case Filter::Op::kLess:
        filter.Less(field, value);
        break;
      default:
        filter.AtLeast(field, value);
    }
  }
  if (!search.order.empty()) {
    search.descending ? filter.OrderByDescending(search.order) : filter.OrderBy(search.order);
  }
  if (search.state == Filter::LockState::kFree) filter.Free();
  if (search.state == Filter::LockState::kLocked) filter.Locked();
  return filter;
}

}  // namespace doclock::conformance
