#include "doclock/body.h"

#include <atomic>
#include <stdexcept>
#include <string_view>
#include <variant>

#include "doclock/errors.h"
#include "document/values/utf8.h"
#include "platform/plain_numbers.h"

namespace doclock {
namespace {

/// Trees are walked and copied by recursion, so text that nests too deep must not become a tree.
bool IsTooDeep(std::string_view text) noexcept {
  if (text.size() <= 2 * static_cast<std::size_t>(kMaxBodyDepth)) return false;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxBodyDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

nlohmann::json Parse(const std::string& text) {
  // The parser takes NUL for the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != text.npos) {
    throw DocumentException("the stored body is not JSON (byte " + std::to_string(nul + 1) + ")");
  }
  if (IsTooDeep(text)) {
    throw DocumentException("the stored body is nested deeper than " +
                            std::to_string(kMaxBodyDepth) + " levels");
  }
  const platform::PlainNumbers plain;
  try {
    nlohmann::json tree = nlohmann::json::parse(text);
    if (!tree.is_object()) throw DocumentException("the stored body is not a JSON object");
    return tree;
  } catch (const nlohmann::json::parse_error& error) {
    // Its text quotes the body; ours must not.
    throw DocumentException("the stored body is not JSON (byte " + std::to_string(error.byte) +
                            ")");
  } catch (const nlohmann::json::exception&) {
    throw DocumentException("the stored body holds a number out of range");
  }
}

std::string Dump(const nlohmann::json& tree) {
  const platform::PlainNumbers plain;
  try {
    return tree.dump();
  } catch (const nlohmann::json::exception&) {
    throw DocumentException("the body holds a string that is not valid UTF-8");
  }
}

std::size_t SizeOf(const nlohmann::json& value) noexcept {
  constexpr std::size_t kSyntax = 8;  // a number, or quotes and comma
  if (const auto* text = value.get_ptr<const std::string*>()) return text->size() + kSyntax;
  std::size_t size = kSyntax;
  if (const auto* object = value.get_ptr<const nlohmann::json::object_t*>()) {
    for (const auto& [name, member] : *object) size += name.size() + SizeOf(member);
  } else if (const auto* array = value.get_ptr<const nlohmann::json::array_t*>()) {
    for (const auto& element : *array) size += SizeOf(element);
  }
  return size;
}

/// Makes a form on first use. Two threads may both make it; the first to finish wins, and neither
/// waits: a mutex would cost every body more than this rare race does.
template <class T, class Make>
const T& MakeOnce(std::atomic<const T*>& slot, const Make& make) {
  if (const T* ready = slot.load(std::memory_order_acquire)) return *ready;
  auto fresh = std::make_unique<const T>(make());
  const T* expected = nullptr;
  if (slot.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel,
                                   std::memory_order_acquire)) {
    return *fresh.release();
  }
  return *expected;
}

}  // namespace

/// Holds the form that the body came in; the other form lives on the heap once it was asked for.
struct Body::Rep {
  explicit Rep(nlohmann::json t)
      : origin(std::move(t)), tree(std::get_if<nlohmann::json>(&origin)) {}
  explicit Rep(std::string t) : origin(std::move(t)), text(std::get_if<std::string>(&origin)) {}
  Rep(const Rep&) = delete;
  Rep& operator=(const Rep&) = delete;
  ~Rep() {
    if (std::holds_alternative<std::string>(origin)) {
      delete tree.load(std::memory_order_acquire);
    } else {
      delete text.load(std::memory_order_acquire);
    }
  }

  std::variant<nlohmann::json, std::string> origin;
  std::atomic<const nlohmann::json*> tree = nullptr;
  std::atomic<const std::string*> text = nullptr;
};

Body Body::FromJson(nlohmann::json tree) { return Body(std::make_shared<Rep>(std::move(tree))); }

Body Body::FromText(std::string text) { return Body(std::make_shared<Rep>(std::move(text))); }

const nlohmann::json& Body::json() const {
  if (!rep_) throw std::logic_error("doclock::Body::json: there is no body");
  return MakeOnce(rep_->tree,
                  [this] { return Parse(*rep_->text.load(std::memory_order_relaxed)); });
}

const std::string& Body::text() const {
  if (!rep_) throw std::logic_error("doclock::Body::text: there is no body");
  return MakeOnce(rep_->text, [this] { return Dump(*rep_->tree.load(std::memory_order_relaxed)); });
}

bool Body::IsUtf8() const noexcept {
  if (!rep_) return true;
  if (const std::string* text = rep_->text.load(std::memory_order_acquire)) {
    return detail::IsUtf8(*text);
  }
  return detail::AllTextIsUtf8(*rep_->tree.load(std::memory_order_relaxed));
}

std::size_t Body::size_hint() const noexcept {
  if (!rep_) return 0;
  if (const std::string* text = rep_->text.load(std::memory_order_acquire)) return text->size();
  return SizeOf(*rep_->tree.load(std::memory_order_relaxed));
}

}  // namespace doclock
