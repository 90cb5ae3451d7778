#include "document/json/row_filter.h"

#include "doclock/errors.h"
#include "document/json/typed_value.h"

namespace doclock {

using Json = nlohmann::json;

const Json& TreeOf(const Body& body) {
  static const Json kNothing = Json::object();
  if (!body) return kNothing;
  try {
    return body.json();
  } catch (const DocumentException&) {
    return kNothing;
  }
}

bool Matches(const Filter& filter, const Body& body) {
  return filter.conditions().empty() || filter.Matches(TreeOf(body));
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

bool StandsBefore(const Filter& filter, const QueryRow& a, const QueryRow& b) {
  if (!filter.order().empty()) {
    const int order = CompareValues(ValueAt(TreeOf(a.body), filter.order()),
                                    ValueAt(TreeOf(b.body), filter.order()));
    if (order != 0) return filter.descending() ? order > 0 : order < 0;
  }
  return a.key < b.key;
}

bool Repeats(const Json& a, const Json& b) {
  if (CompareValues(a, b) != 0) return false;
  // Arrays and objects have no order among each other.
  const bool compared = !a.is_structured() || detail::KindOf(a) != detail::TypedKind::kNone;
  return compared || a == b;
}

}  // namespace doclock
