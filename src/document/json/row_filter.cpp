#include "document/json/row_filter.h"

#include <set>
#include <stdexcept>
#include <string_view>

#include "doclock/errors.h"
#include "doclock/json/key.h"
#include "doclock/json/value_error.h"
#include "doclock/time.h"
#include "document/json/typed_value.h"

namespace doclock {

using Json = nlohmann::json;

namespace {

/// For a unique index.
bool IsSameValue(const Json& a, const Json& b) {
  if (CompareValues(a, b) != 0) return false;
  // Arrays and objects have no order among each other.
  const bool compared = !a.is_structured() || detail::KindOf(a) != detail::TypedKind::kNone;
  return compared || a == b;
}

}  // namespace

const Json& TreeOf(const Body& body) {
  // Never destroyed: stores may be used while the process ends.
  static const Json& nothing = *new Json(Json::object());
  if (!body) return nothing;
  try {
    return body.json();
  } catch (const DocumentException&) {
    return nothing;
  }
}

bool Matches(const Filter& filter, const Key& key, const Body& body) {
  return filter.conditions().empty() || filter.Matches(key, TreeOf(body));
}

bool StateMatches(const Filter& filter, bool locked) noexcept {
  switch (filter.lock_state()) {
    case Filter::LockState::kFree:
      return !locked;
    case Filter::LockState::kLocked:
      return locked;
    case Filter::LockState::kAny:
      break;
  }
  return true;
}

std::optional<Key> KeyFrom(const Json& value) {
  try {
    return KeyFromMember(value);
  } catch (const JsonValueError&) {
    return std::nullopt;
  }
}

std::optional<Key> EqualKey(const Filter& filter) {
  for (const Filter::Condition& condition : filter.conditions()) {
    if (condition.op != Filter::Op::kEqual || !detail::IsKeyPath(condition.path)) continue;
    if (auto key = KeyFrom(condition.value)) return key;
  }
  return std::nullopt;
}

Filter::Position PositionOf(const Filter& filter, const Key& key, const Body& body) {
  if (filter.order().empty()) return {key, nullptr};
  return {key, ValueAt(TreeOf(body), filter.order())};
}

std::optional<std::chrono::milliseconds> NextDue(
    const Filter& filter, std::chrono::system_clock::time_point now,
    const std::function<void(const Filter&, const std::function<bool(QueryRow&&)>&)>& scan) {
  const std::optional<Filter> first = filter.FirstDueAfter(now);
  std::optional<std::chrono::milliseconds> due_in;
  if (!first) return due_in;
  scan(*first, [&](QueryRow&& row) {
    const Date due = ValueAt(TreeOf(row.body), first->order()).get<Date>();
    due_in = due.time() - Date(now).time();
    return false;
  });
  return due_in;
}

bool IsBefore(const Filter& filter, const Filter::Position& a, const Filter::Position& b,
              KeyOrder keys) noexcept {
  if (filter.order().empty()) return filter.descending() ? keys(b.key, a.key) : keys(a.key, b.key);
  const int order =
      filter.descending() ? CompareValues(b.value, a.value) : CompareValues(a.value, b.value);
  return order != 0 ? order < 0 : keys(a.key, b.key);
}

bool FirstRows::Admits(const Filter::Position& position) {
  if (after_ && !IsBefore(filter_, *after_, position, keys_)) return false;
  const bool full = left_out_ || kept_.size() == most_;
  if (!full || IsBefore(filter_, position, kept_.front().position, keys_)) return true;
  left_out_ = true;
  return false;
}

void FirstRows::Show(QueryRow row) {
  if (!StateMatches(filter_, row.locked)) return;
  const bool by_key = filter_.order().empty();
  if (by_key && !Admits({row.key, nullptr})) return;  // spares reading the body
  if (!Matches(filter_, row.key, row.body)) return;
  Filter::Position position = PositionOf(filter_, row.key, row.body);
  if (!by_key && !Admits(position)) return;
  const std::size_t bytes = row.body.size_hint();
  bytes_ += bytes;
  kept_.push_back({std::move(position), bytes, std::move(row)});
  std::push_heap(kept_.begin(), kept_.end(), Order());
  while (kept_.size() > most_ || (bytes_ > kPageBytes && kept_.size() > 1)) {
    std::pop_heap(kept_.begin(), kept_.end(), Order());
    bytes_ -= kept_.back().bytes;
    kept_.pop_back();
    left_out_ = true;
  }
}

IndexSpec WithoutKey(const IndexSpec& index) {
  if (index.fields.empty()) throw std::invalid_argument("doclock: an index needs a field");
  constexpr std::size_t kMostFields = 31;  // MongoDB has 32, and the key is one of them
  if (index.fields.size() > kMostFields + (index.fields.back() == Filter::kKeyField ? 1 : 0)) {
    throw std::invalid_argument("doclock: an index has at most " + std::to_string(kMostFields) +
                                " fields besides the key");
  }
  IndexSpec plain = index;
  std::set<std::string_view> names;
  for (const std::string& field : index.fields) {
    Filter().OrderBy(field);  // refuses bad names
    if (!names.insert(field).second) {
      throw std::invalid_argument("doclock: an index names the field '" + field + "' twice");
    }
    if (field != Filter::kKeyField) continue;
    if (&field != &index.fields.back()) {
      throw std::invalid_argument(
          "doclock: in an index the key can only be the last field: name the others before it");
    }
    plain.fields.pop_back();
    plain.unique = false;
  }
  return plain;
}

std::optional<UniqueValues> UniqueValuesOf(const std::vector<std::string>& fields,
                                           const Body& body) {
  UniqueValues values;
  for (const std::string& field : fields) {
    values.push_back(ValueAt(TreeOf(body), Filter().OrderBy(field).order()));
    if (values.back().is_null()) return std::nullopt;
  }
  return values;
}

bool Repeat(const std::optional<UniqueValues>& a, const std::optional<UniqueValues>& b) {
  return a && b && std::equal(a->begin(), a->end(), b->begin(), b->end(), IsSameValue);
}

}  // namespace doclock
