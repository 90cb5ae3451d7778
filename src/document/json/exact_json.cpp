#include "document/json/exact_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

#include "doclock/errors.h"
#include "document/json/same_json.h"
#include "platform/plain_numbers.h"

namespace doclock::detail {
namespace {

using nlohmann::json;

bool IsDigit(char c) noexcept { return c >= '0' && c <= '9'; }

bool IsNumber(std::string_view text) noexcept {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const auto is_at = [&](std::string_view set) {
    return at < text.size() && set.find(text[at]) != set.npos;
  };
  const auto has_digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    return at > from;
  };
  const bool is_zero = is_at("0");
  if (is_zero) ++at;
  if (!is_zero && !has_digits()) return false;
  if (is_at(".") && (++at, !has_digits())) return false;
  if (is_at("eE")) {
    if (++at, is_at("+-")) ++at;
    if (!has_digits()) return false;
  }
  return at == text.size();
}

/// Does WithinRange write it?
bool IsPlaceholder(std::string_view number) noexcept {
  return number.starts_with("0e0") && number.find_first_not_of('0', 2) == number.npos;
}

}  // namespace

std::string WithinRange(const std::string& text, std::vector<std::string>& replaced) {
  const platform::PlainNumbers plain;
  std::string within;
  within.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at++;
    if (text[begin] == '"') {
      while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
      at = std::min(at + 1, text.size());
    } else if (text[begin] == '-' || IsDigit(text[begin])) {
      at = std::min(text.find_first_not_of("+-.eE0123456789", at), text.size());
      const std::string number = text.substr(begin, at - begin);
      const bool is_beyond = std::isinf(std::strtod(number.c_str(), nullptr));
      if ((is_beyond && IsNumber(number)) || IsPlaceholder(number)) {
        within.append("0e").append(number.size() - 2, '0');
        replaced.push_back(number);
        continue;
      }
    }
    within.append(text, begin, at - begin);
  }
  return within;
}

namespace {

/// Does nlohmann::json::dump print it like this? (dump itself costs several times as much.)
bool IsPrintedAs(double value, const std::string& literal) {
  std::array<char, 64> printed;
  const char* const end =
      nlohmann::detail::to_chars(printed.data(), printed.data() + printed.size(), value);
  return literal ==
         std::string_view(printed.data(), static_cast<std::size_t>(end - printed.data()));
}

/// Makes the tree, as nlohmann's own parser does, and remembers literals.
class Reader final : public nlohmann::json_sax<json> {
 public:
  /// @param replaced see WithinRange
  explicit Reader(std::size_t depth, std::vector<std::string> replaced = {})
      : depth_(depth), replaced_(std::move(replaced)) {}

  bool null() override { return Put(nullptr); }
  bool boolean(bool value) override { return Put(value); }
  bool number_integer(number_integer_t value) override {
    Put(value);
    if (value == 0) Remember("-0");  // what has no sign is unsigned
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    Put(value);
    if (value > INT64_MAX) Remember(std::to_string(value));
    return true;
  }
  bool number_float(number_float_t value, const string_t& literal) override {
    if (next_ < replaced_.size() && IsPlaceholder(literal)) {
      Put(std::strtod(replaced_[next_].c_str(), nullptr));
      Remember(std::move(replaced_[next_++]));
    } else if (Put(value); !IsPrintedAs(value, literal)) {
      Remember(literal);
    }
    return true;
  }
  bool string(string_t& value) override { return Put(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return Open(json::value_t::object); }
  bool key(string_t& name) override {
    const auto [member, is_new] =
        stack_.back().value->get_ptr<json::object_t*>()->try_emplace(std::move(name));
    stack_.back().name = &member->first;
    slot_ = &member->second;
    if (!is_new && !exact.literals.is_null()) Remember(nullptr);  // the last one of a name counts
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t /*size*/) override { return Open(json::value_t::array); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t at, const std::string& /*token*/,
                   const json::exception& error) override {
    constexpr int kOutOfRange = 406;
    is_beyond_range = error.id == kOutOfRange;
    byte = at;
    return false;
  }

  ExactJson exact;
  bool is_too_deep = false;
  bool is_beyond_range = false;
  std::size_t byte = 0;  ///< What was read when an error was found.

 private:
  /// An open object or array, the name of the object's last member, and the literals in it, once
  /// there are some.
  struct Level {
    json* value;
    const std::string* name = nullptr;
    json* literals = nullptr;

    [[nodiscard]] json* last() const {
      return name != nullptr ? &(*literals)[*name] : &(*literals)[value->size() - 1];
    }
  };

  template <class Value>
  bool Put(Value&& value) {
    if (!stack_.empty() && stack_.back().name == nullptr) {
      auto& array = *stack_.back().value->get_ptr<json::array_t*>();
      slot_ = &array.emplace_back(std::forward<Value>(value));
    } else {
      if (stack_.empty()) slot_ = &exact.tree;
      *slot_ = json(std::forward<Value>(value));
    }
    return true;
  }
  bool Open(json::value_t kind) {
    // Trees are walked and copied by recursion, so text that nests too deep must not become one.
    is_too_deep = stack_.size() == depth_;
    if (is_too_deep) return false;
    Put(kind);
    stack_.push_back({slot_});
    return true;
  }
  bool Close() {
    stack_.pop_back();
    return true;
  }
  /// Stores the literal of the value that was put last, or of the member whose name came last; null
  /// removes it.
  void Remember(json literal) {
    // Not from the top: a text may have many numbers deep within long names.
    std::size_t known = stack_.size();
    while (known > 0 && stack_[known - 1].literals == nullptr) --known;
    json* at = known == 0 ? &exact.literals : stack_[known - 1].last();
    for (; known < stack_.size(); ++known) {
      stack_[known].literals = at;
      at = stack_[known].last();
    }
    *at = std::move(literal);
  }

  const std::size_t depth_;
  std::vector<std::string> replaced_;
  std::size_t next_ = 0;  ///< In `replaced_`.
  std::vector<Level> stack_;
  json* slot_ = nullptr;  ///< The value that was put last, or that comes next.
};

/// Is `b` what a program has that reads `a` as a whole number or as a double?
bool IsSameNumber(const json& a, const json& b) {
  if (a.is_number_integer() && b.is_number_float()) return a.get<double>() == b.get<double>();
  if (!a.is_number_float() || !b.is_number_integer()) return IsSameJson(a, b);
  constexpr double kEnd = 0x1p63;
  const double value = a.get<double>();
  return value >= -kEnd && value < kEnd && std::trunc(value) == value &&
         IsSameJson(json(static_cast<std::int64_t>(value)), b);
}

json LiteralsOver(const json& literals, const json& base, const json& tree) {
  if (literals.is_string()) return IsSameNumber(base, tree) ? literals : json();
  json kept;
  if (literals.is_object() && tree.is_object()) {
    for (const auto& [name, inner] : literals.items()) {
      const auto member = tree.find(name);
      if (member == tree.end()) continue;
      json found = LiteralsOver(inner, base.at(name), *member);
      if (!found.is_null()) kept[name] = std::move(found);
    }
  } else if (literals.is_array() && tree.is_array() && tree.size() == base.size()) {
    // In an array of another length, elements have other places.
    for (std::size_t i = 0; i < literals.size(); ++i) {
      json found = LiteralsOver(literals[i], base.at(i), tree[i]);
      if (!found.is_null()) kept[i] = std::move(found);
    }
  }
  return kept;
}

/// A member's or an element's literals, of those of what it is in.
template <class Place>
const json& LiteralsAt(const json& literals, const Place& place) {
  static const json kNone;
  if constexpr (std::is_integral_v<Place>) {
    return literals.is_array() && place < literals.size() ? literals[place] : kNone;
  } else {
    const auto found = literals.find(place);
    return found == literals.end() ? kNone : *found;
  }
}

using Visit = std::function<void(const Place&, const json&, const json&)>;

void ForEachValue(const json& value, const json& literals, const Place* place, const Visit& visit) {
  if (const auto* const object = value.get_ptr<const json::object_t*>()) {
    for (const auto& [name, member] : *object) {
      const Place inner{place, &name};
      ForEachValue(member, LiteralsAt(literals, name), &inner, visit);
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Place inner{place, nullptr, i};
      ForEachValue(value[i], LiteralsAt(literals, i), &inner, visit);
    }
  } else if (place != nullptr) {
    visit(*place, value, literals);
  }
}

class Printer {
 public:
  Printer(int indent, json::error_handler_t handler) : indent_(indent), handler_(handler) {}

  void Add(const json& value, const json& literals, int depth = 1) {
    if (literals.is_string()) {
      text += literals.get_ref<const std::string&>();
    } else if ((literals.is_null() && indent_ < 0) || !value.is_structured() || value.empty()) {
      text += value.dump(-1, ' ', false, handler_);
    } else if (value.is_object()) {
      char open = '{';
      for (const auto& [name, member] : value.get_ref<const json::object_t&>()) {
        Begin(std::exchange(open, ','), depth);
        text += json(name).dump(-1, ' ', false, handler_) + (indent_ < 0 ? ":" : ": ");
        Add(member, LiteralsAt(literals, name), depth + 1);
      }
      End('}', depth);
    } else {
      for (std::size_t i = 0; i < value.size(); ++i) {
        Begin(i == 0 ? '[' : ',', depth);
        Add(value[i], LiteralsAt(literals, i), depth + 1);
      }
      End(']', depth);
    }
  }

  std::string text;

 private:
  void Begin(char c, int depth) {
    text += c;
    NewLine(depth);
  }
  void End(char c, int depth) {
    NewLine(depth - 1);
    text += c;
  }
  void NewLine(int depth) {
    if (indent_ >= 0) text.append("\n").append(static_cast<std::size_t>(depth * indent_), ' ');
  }

  const int indent_;
  const json::error_handler_t handler_;
};

}  // namespace

ExactJson ParseExact(const std::string& text, std::size_t depth) {
  const platform::PlainNumbers plain;
  Reader reader(depth);
  bool is_json = json::sax_parse(text, &reader);
  if (reader.is_beyond_range) {
    std::vector<std::string> replaced;
    const std::string within = WithinRange(text, replaced);
    Reader again(depth, std::move(replaced));
    is_json = json::sax_parse(within, &again);
    std::swap(reader.exact, again.exact);
    reader.is_too_deep = again.is_too_deep;
    reader.byte = again.byte;
  }
  if (reader.is_too_deep) {
    throw DocumentException("the stored body is nested deeper than " + std::to_string(depth) +
                            " levels");
  }
  // The parser takes NUL for the end of the text.
  const std::size_t nul = text.find('\0');
  if (!is_json || nul != text.npos) {
    throw DocumentException("the stored body is not JSON (byte " +
                            std::to_string(is_json ? nul + 1 : reader.byte) + ")");
  }
  return std::move(reader.exact);
}

json LiteralsOver(const ExactJson& base, const json& tree) {
  return LiteralsOver(base.literals, base.tree, tree);
}

void ForEachValue(const ExactJson& what, const Visit& visit) {
  ForEachValue(what.tree, what.literals, nullptr, visit);
}

std::string Place::Path() const {
  std::string path = parent == nullptr ? "" : parent->Path();
  if (name == nullptr) return path + "[" + std::to_string(index) + "]";
  return path + (path.empty() ? "" : ".") + *name;
}

std::string Print(const ExactJson& what, int indent, json::error_handler_t handler) {
  const platform::PlainNumbers plain;
  if (what.literals.is_null()) return what.tree.dump(indent, ' ', false, handler);
  Printer printer(indent, handler);
  printer.Add(what.tree, what.literals);
  return std::move(printer.text);
}

}  // namespace doclock::detail
