#include <charconv>
#include <stdexcept>

#include "doclock/json/uuid.h"
#include "doclock/store/record_store.h"

namespace doclock {
namespace {

struct ToKeyText {
  std::string operator()(const std::string& text) const { return "s:" + text; }
  std::string operator()(std::int64_t number) const { return "i:" + std::to_string(number); }
  std::string operator()(const Uuid& id) const { return "u:" + ToText(id); }
  std::string operator()(const ObjectId& id) const { return "o:" + ToText(id); }
};

[[noreturn]] void ThrowBadText() {
  throw std::invalid_argument("doclock: the text names no key: it begins with s:, i:, u: or o:");
}

std::int64_t NumberFrom(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end) ThrowBadText();
  return number;
}

}  // namespace

std::string KeyToText(const Key& key) { return std::visit(ToKeyText{}, key.value()); }

Key KeyFromText(const std::string& text) {
  if (text.size() < 2 || text[1] != ':') ThrowBadText();
  const std::string rest = text.substr(2);
  switch (text.front()) {
    case 's':
      return Key(rest);
    case 'i':
      return Key(NumberFrom(rest));
    case 'u':
      return Key(UuidFromText(rest));
    case 'o':
      return Key(ObjectIdFromText(rest));
    default:
      ThrowBadText();
  }
}

}  // namespace doclock
