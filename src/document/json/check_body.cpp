#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "doclock/detail/engine.h"
#include "doclock/document.h"
#include "doclock/errors.h"
#include "document/json/bson_size.h"
#include "document/json/exact_json.h"
#include "document/json/same_json.h"
#include "document/values/lock_field_names.h"
#include "document/values/utf8.h"

namespace doclock::detail {
namespace {

using nlohmann::json;

[[noreturn]] void Refuse(const std::string& what) {
  throw DocumentException("the body cannot be stored: " + what);
}

/// The value at that place; null if there is none.
const json* ValueAt(const json& body, const Place* place) {
  if (place == nullptr) return &body;
  const json* const outer = ValueAt(body, place->parent);
  if (outer == nullptr) return nullptr;
  if (place->name != nullptr) {
    const auto member = outer->find(*place->name);
    return member == outer->end() ? nullptr : &*member;
  }
  return outer->is_array() && place->index < outer->size() ? &(*outer)[place->index] : nullptr;
}

/// Walks a tree once.
class Checker {
 public:
  Checker(const ExactJson& body, const LockFieldNames& fields, const Body& base)
      : body_(body), fields_(AllLockFields(fields)), base_(base) {}

  void CheckTop() {
    const auto* object = body_.tree.get_ptr<const json::object_t*>();
    if (object == nullptr) {
      Refuse(std::string("it is not a JSON object but ") + body_.tree.type_name());
    }
    for (const auto& [name, member] : *object) {
      CheckName(name, nullptr);
      CheckTopName(name);
      CheckValue(member, {nullptr, &name}, 2);
    }
    CheckSize();
  }

 private:
  void CheckName(const std::string& name, const Place* object) {
    if (!IsUtf8(name)) Complain("a field's name is not valid UTF-8", object);
    if (name.find('\0') != name.npos)
      Complain("the name " + QuotedName(name) + " holds NUL", object);
    text_bytes_ += name.size();
    ++values_;
  }

  void CheckTopName(const std::string& name) {
    if (name.empty()) Refuse("a field's name is empty");
    if (name.front() == '$') Refuse("the name " + QuotedName(name) + " begins with '$'");
    if (name.find('.') != name.npos) Refuse("the name " + QuotedName(name) + " holds '.'");
    if (name == "_id") Refuse("the name \"_id\" is the key's");
    if (IsLockField(name)) Refuse("the name " + QuotedName(name) + " is a lock field's");
  }

  bool IsLockField(const std::string& name) const {
    return std::ranges::any_of(fields_, [&](const auto& field) { return name == *field.second; });
  }

  /// `depth` is the value's own if it is an object or an array.
  void CheckValue(const json& value, const Place& place, int depth) {
    ++values_;
    switch (value.type()) {
      case json::value_t::object:
        if (IsTooDeep(place, depth)) break;
        for (const auto& [name, member] : *value.get_ptr<const json::object_t*>()) {
          CheckName(name, &place);
          CheckValue(member, {&place, &name}, depth + 1);
        }
        break;
      case json::value_t::array: {
        if (IsTooDeep(place, depth)) break;
        std::size_t index = 0;
        for (const json& element : *value.get_ptr<const json::array_t*>()) {
          CheckValue(element, {&place, nullptr, index++}, depth + 1);
        }
        break;
      }
      default:
        CheckScalar(value, place);
    }
  }

  void CheckScalar(const json& value, const Place& place) {
    switch (value.type()) {
      case json::value_t::string: {
        const auto& text = *value.get_ptr<const std::string*>();
        if (!IsUtf8(text)) Complain("a string is not valid UTF-8", &place);
        text_bytes_ += text.size();
        break;
      }
      case json::value_t::number_float:
        if (!std::isfinite(*value.get_ptr<const double*>())) {
          ComplainOfNumber("a number is NaN or infinite", place);
        }
        break;
      case json::value_t::number_unsigned:
        if (*value.get_ptr<const std::uint64_t*>() > INT64_MAX) {
          ComplainOfNumber("a whole number is above 2^63 - 1", place);
        }
        break;
      case json::value_t::binary:
      case json::value_t::discarded:
        Complain("a value is binary", &place);
        break;
      default:
        break;
    }
  }

  void ComplainOfNumber(const char* what, const Place& place) {
    const json* const literal = ValueAt(body_.literals, &place);
    const bool is_exact = literal != nullptr && literal->is_string();
    if (!is_exact) Complain(what, &place);
  }

  bool IsTooDeep(const Place& place, int depth) {
    if (depth <= kMaxBodyDepth) return false;
    Complain("it is nested deeper than " + std::to_string(kMaxBodyDepth) + " levels", &place);
    text_bytes_ = kMaxBodyBytes;  // what is not walked has to be measured
    return true;
  }

  /// Nearly every body is so small that it fits even if everything needs escaping; only larger ones
  /// are printed to be measured. (BSON has up to 17 bytes beside a text, and the name of each
  /// element of an array.)
  void CheckSize() const {
    constexpr std::size_t kLongestEscape = 6, kLongestNumber = 32;
    const bool is_small = text_bytes_ * kLongestEscape + values_ * kLongestNumber <= kMaxBodyBytes;
    if (is_small && body_.literals.is_null()) return;
    CheckSize(Print(body_, -1, json::error_handler_t::replace).size(), "");
    CheckSize(BsonBytes(body_.tree), " as BSON, in which MongoDB keeps it");
  }

  static void CheckSize(std::size_t bytes, const char* form) {
    if (bytes <= kMaxBodyBytes) return;
    Refuse("it is " + std::to_string(bytes) + " bytes long" + form + ", above " +
           std::to_string(kMaxBodyBytes));
  }

  /// Is what is at that place as it was?
  [[nodiscard]] bool Stays(const Place& place) const {
    const json* const before = base_ ? ValueAt(base_.json(), &place) : nullptr;
    return before != nullptr && IsSameJson(*before, *ValueAt(body_.tree, &place));
  }
  /// Refuses the body, unless what is at that place is as it was: then another program stored it.
  void Complain(const std::string& what, const Place* place) const {
    if (place == nullptr) Refuse(what);
    if (!Stays(*place)) Refuse(what + " (in " + QuotedName(place->Path()) + ")");
  }

  const ExactJson& body_;
  const NamedLockFields fields_;
  const Body& base_;
  std::size_t text_bytes_ = 0;
  std::size_t values_ = 1;
};

}  // namespace

void CheckBody(const Body& body, const LockFieldNames& fields, const Body& base) {
  Checker(BodyAccess::Exact(body), fields, base).CheckTop();
}

}  // namespace doclock::detail
