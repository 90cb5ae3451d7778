#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "doclock/body.h"
#include "doclock/detail/engine.h"
#include "doclock/errors.h"
#include "document/json/bson_size.h"
#include "document/json/same_json.h"
#include "document/values/utf8.h"

namespace doclock::detail {
namespace {

using nlohmann::json;

[[noreturn]] void Refuse(const std::string& what) {
  throw DocumentException("the body cannot be stored: " + what);
}

/// A name as it goes into a message: escaped, and not longer than a line.
std::string Quote(const std::string& name) {
  constexpr std::size_t kLongest = 64;
  std::string text = "\"";
  std::size_t end = std::min(name.size(), kLongest);
  while (end > 0 && end < name.size() && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80)
    --end;
  AppendEscaped(text, std::string_view(name).substr(0, end));
  return text + (end < name.size() ? "…\"" : "\"");
}

/// Walks a tree once.
class Checker {
 public:
  Checker(const LockFieldNames& fields, const json& base) : fields_(fields), base_(base) {}

  void CheckTop(const json& body) {
    const auto* object = body.get_ptr<const json::object_t*>();
    if (object == nullptr) Refuse(std::string("it is not a JSON object but ") + body.type_name());
    for (const auto& member : *object) {
      member_ = nullptr;
      CheckName(member.first);
      CheckTopName(member.first);
      member_ = &member;
      stays_.reset();
      CheckValue(member.second, 2);
    }
    CheckSize(body);
  }

 private:
  void CheckName(const std::string& name) {
    if (!IsUtf8(name)) Complain("a field's name is not valid UTF-8");
    if (name.find('\0') != name.npos) Complain("the name " + Quote(name) + " holds NUL");
    text_bytes_ += name.size();
    ++values_;
  }

  void CheckTopName(const std::string& name) {
    if (name.empty()) Refuse("a field's name is empty");
    if (name.front() == '$') Refuse("the name " + Quote(name) + " begins with '$'");
    if (name.find('.') != name.npos) Refuse("the name " + Quote(name) + " holds '.'");
    if (name == "_id") Refuse("the name \"_id\" is the key's");
    if (IsLockField(name)) Refuse("the name " + Quote(name) + " is a lock field's");
  }

  bool IsLockField(const std::string& name) const {
    return name == fields_.id || name == fields_.time || name == fields_.ttl ||
           name == fields_.version || name == fields_.born || name == fields_.owner ||
           name == fields_.released || name == fields_.closed || name == fields_.group ||
           name == fields_.readers || name == fields_.fence || name == fields_.queue ||
           name == fields_.passed;
  }

  /// `depth` is the value's own if it is an object or an array.
  void CheckValue(const json& value, int depth) {
    ++values_;
    switch (value.type()) {
      case json::value_t::object:
        if (IsTooDeep(depth)) break;
        for (const auto& [name, member] : *value.get_ptr<const json::object_t*>()) {
          CheckName(name);
          CheckValue(member, depth + 1);
        }
        break;
      case json::value_t::array:
        if (IsTooDeep(depth)) break;
        for (const json& element : *value.get_ptr<const json::array_t*>()) {
          CheckValue(element, depth + 1);
        }
        break;
      default:
        CheckScalar(value);
    }
  }

  void CheckScalar(const json& value) {
    switch (value.type()) {
      case json::value_t::string: {
        const auto& text = *value.get_ptr<const std::string*>();
        if (!IsUtf8(text)) Complain("a string is not valid UTF-8");
        text_bytes_ += text.size();
        break;
      }
      case json::value_t::number_float:
        if (!std::isfinite(*value.get_ptr<const double*>())) {
          Complain("a number is NaN or infinite");
        }
        break;
      case json::value_t::number_unsigned:
        if (*value.get_ptr<const std::uint64_t*>() > INT64_MAX) {
          Complain("a whole number is above 2^63 - 1");
        }
        break;
      case json::value_t::binary:
      case json::value_t::discarded:
        Complain("a value is binary");
        break;
      default:
        break;
    }
  }

  bool IsTooDeep(int depth) {
    if (depth <= kMaxBodyDepth) return false;
    Complain("it is nested deeper than " + std::to_string(kMaxBodyDepth) + " levels");
    text_bytes_ = kMaxBodyBytes;  // what is not walked has to be measured
    return true;
  }

  /// Nearly every body is so small that it fits even if everything needs escaping; only larger ones
  /// are printed to be measured. (BSON has up to 17 bytes beside a text, and the name of each
  /// element of an array.)
  void CheckSize(const json& body) const {
    constexpr std::size_t kLongestEscape = 6, kLongestNumber = 32;
    if (text_bytes_ * kLongestEscape + values_ * kLongestNumber <= kMaxBodyBytes) return;
    CheckSize(body.dump(-1, ' ', false, json::error_handler_t::replace).size(), "");
    CheckSize(BsonBytes(body), " as BSON, in which MongoDB keeps it");
  }

  static void CheckSize(std::size_t bytes, const char* form) {
    if (bytes <= kMaxBodyBytes) return;
    Refuse("it is " + std::to_string(bytes) + " bytes long" + form + ", above " +
           std::to_string(kMaxBodyBytes));
  }

  /// Refuses the body, unless the top-level member is as it was: then another program stored it.
  void Complain(const std::string& what) const {
    if (member_ == nullptr) Refuse(what);
    const auto& [name, value] = *member_;
    if (!stays_) {
      const auto before = base_.find(name);
      stays_ = before != base_.end() && IsSameJson(*before, value);
    }
    if (!*stays_) Refuse(what + " (in " + Quote(name) + ")");
  }

  const LockFieldNames& fields_;
  const json& base_;
  const json::object_t::value_type* member_ = nullptr;  ///< The top-level one that is walked.
  mutable std::optional<bool> stays_;  ///< Is it as it was? Nothing: not known yet.
  std::size_t text_bytes_ = 0;
  std::size_t values_ = 1;
};

}  // namespace

void CheckBody(const json& body, const LockFieldNames& fields, const json& base) {
  Checker(fields, base).CheckTop(body);
}

}  // namespace doclock::detail
