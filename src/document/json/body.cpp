#include "doclock/document.h"

#include <atomic>
#include <stdexcept>
#include <variant>

#include "doclock/errors.h"
#include "document/json/exact_json.h"
#include "document/values/utf8.h"

namespace doclock {
namespace {

std::string Dump(const detail::ExactJson& exact) {
  try {
    return detail::Print(exact);
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
  explicit Rep(detail::ExactJson e)
      : origin(std::move(e)), exact(std::get_if<detail::ExactJson>(&origin)) {}
  explicit Rep(std::string t) : origin(std::move(t)), text(std::get_if<std::string>(&origin)) {}
  Rep(const Rep&) = delete;
  Rep& operator=(const Rep&) = delete;
  ~Rep() {
    if (std::holds_alternative<std::string>(origin)) {
      delete exact.load(std::memory_order_acquire);
    } else {
      delete text.load(std::memory_order_acquire);
    }
  }

  std::variant<detail::ExactJson, std::string> origin;
  std::atomic<const detail::ExactJson*> exact = nullptr;
  std::atomic<const std::string*> text = nullptr;
};

Body Body::FromJson(nlohmann::json tree, const Body& base) {
  nlohmann::json literals;
  if (base) literals = detail::LiteralsOver(base.exact(), tree);
  return Body(std::make_shared<Rep>(detail::ExactJson{std::move(tree), std::move(literals)}));
}

Body Body::FromText(std::string text) { return Body(std::make_shared<Rep>(std::move(text))); }

const nlohmann::json& Body::json() const { return exact().tree; }

const detail::ExactJson& Body::exact() const {
  if (!rep_) throw std::logic_error("doclock::Body::json: there is no body");
  return MakeOnce(rep_->exact, [this] {
    detail::ExactJson exact =
        detail::ParseExact(*rep_->text.load(std::memory_order_relaxed), kMaxBodyDepth);
    if (!exact.tree.is_object()) throw DocumentException("the stored body is not a JSON object");
    return exact;
  });
}

const std::string& Body::text() const {
  if (!rep_) throw std::logic_error("doclock::Body::text: there is no body");
  return MakeOnce(rep_->text,
                  [this] { return Dump(*rep_->exact.load(std::memory_order_relaxed)); });
}

bool Body::IsUtf8() const noexcept {
  if (!rep_) return true;
  if (const std::string* text = rep_->text.load(std::memory_order_acquire)) {
    return detail::IsUtf8(*text);
  }
  return detail::AllTextIsUtf8(rep_->exact.load(std::memory_order_relaxed)->tree);
}

std::size_t Body::size_hint() const noexcept {
  if (!rep_) return 0;
  if (const std::string* text = rep_->text.load(std::memory_order_acquire)) return text->size();
  const detail::ExactJson& exact = *rep_->exact.load(std::memory_order_relaxed);
  return SizeOf(exact.tree) + SizeOf(exact.literals);
}

const detail::ExactJson& detail::BodyAccess::Exact(const Body& body) { return body.exact(); }

Body detail::BodyAccess::Make(ExactJson exact) {
  return Body(std::make_shared<Body::Rep>(std::move(exact)));
}

}  // namespace doclock
