#include <algorithm>
#include <nlohmann/json.hpp>

#include "doclock/detail/engine.h"
#include "document/json/same_json.h"
#include "document/json/typed_value.h"

namespace doclock::detail {
namespace {

using nlohmann::json;

/// An object that is not a date, an ObjectId and the like: those are values.
const json::object_t* ObjectIn(const json& value) noexcept {
  return KindOf(value) == TypedKind::kNone ? value.get_ptr<const json::object_t*>() : nullptr;
}

bool HoldsObjects(const json& array) {
  return std::any_of(array.begin(), array.end(), [](const json& element) {
    return element.is_array() ? HoldsObjects(element) : ObjectIn(element) != nullptr;
  });
}

/// The member of that name; null if there is none.
const json& At(const json& object, const std::string& name) {
  static const json kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

void Merge(const MetBody& base, json& fresh);

void MergeMember(const MetBody& base, json& fresh) {
  const bool as_stored = base.stored.is_array() && IsSameJson(base.stored, base.upgraded) &&
                         IsSameJson(base.written, fresh);
  if (as_stored) {
    fresh = base.stored;
  } else {
    Merge(base, fresh);
  }
}

void Merge(const MetBody& base, json& fresh) {
  const auto* const stored = ObjectIn(base.stored);
  if (stored == nullptr || ObjectIn(base.upgraded) == nullptr || ObjectIn(fresh) == nullptr) return;
  auto& into = *fresh.get_ptr<json::object_t*>();
  for (const auto& [name, value] : *stored) {
    const auto found = into.find(name);
    if (found != into.end()) {
      MergeMember({value, At(base.upgraded, name), At(base.written, name)}, found->second);
    } else if (base.upgraded.contains(name) && !base.written.contains(name)) {
      into.emplace(name, value);
    }
  }
}

}  // namespace

bool HoldsMore(const json& stored, const json& fresh) {
  if (stored.is_array()) return HoldsObjects(stored) && !IsSameJson(stored, fresh);
  const auto* const before = ObjectIn(stored);
  const auto* const now = ObjectIn(fresh);
  if (before == nullptr || now == nullptr) return false;
  return std::any_of(before->begin(), before->end(), [&](const auto& member) {
    const auto found = now->find(member.first);
    return found == now->end() || HoldsMore(member.second, found->second);
  });
}

json MergeBody(const MetBody& base, json fresh) {
  Merge(base, fresh);
  return fresh;
}

}  // namespace doclock::detail
