#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "doclock/export.h"

namespace doclock {

namespace detail {
struct ExactJson;
struct BodyAccess;
}  // namespace detail

/// The deepest nesting a body may have.
inline constexpr int kMaxBodyDepth = 100;
/// The longest body in bytes, as JSON text and as BSON, on every store: MongoDB's limit, less room
/// for the fields of the lock and its queue, so that a document that can be locked can be saved.
inline constexpr std::size_t kMaxBodyBytes = 16 * 1024 * 1024 - 64 * 1024;

/// A document's body: an immutable JSON object, shared and never copied on its way through the
/// library. It remembers the form it came in (text from a store, a tree from the user) and makes
/// the other form once, when it is first asked for. Its text has all digits of its numbers; its
/// tree has what a double or a 64-bit integer holds of them. Cheap to copy; safe to use from
/// several threads.
class DOCLOCK_EXPORT Body {
 public:
  /// No body.
  Body() noexcept = default;

  /// Takes a tree. Does not check it; see CheckBody.
  /// @param base a number that it has at the same place, with the same value, keeps its digits
  static Body FromJson(nlohmann::json tree, const Body& base = Body());
  /// Takes JSON text that a store kept. It is parsed when json() is first called.
  static Body FromText(std::string text);

  /// Is there a body?
  explicit operator bool() const noexcept { return rep_ != nullptr; }

  /// Returns the tree. Of two members of one name it has the last; a number beyond the range of
  /// double is infinite. The reference lives as long as any copy of this body.
  /// @throws DocumentException when the stored text is not a JSON object, or nested too deep.
  /// @throws std::logic_error when there is no body.
  [[nodiscard]] const nlohmann::json& json() const;

  /// JSON text: compact, unless it came as text. The reference lives as long as any copy of this
  /// body.
  /// @throws DocumentException when a string in it is not valid UTF-8.
  /// @throws std::logic_error when there is no body.
  [[nodiscard]] const std::string& text() const;

  /// Is it a copy of that body, and not only equal to it?
  [[nodiscard]] bool IsSameAs(const Body& other) const noexcept { return rep_ == other.rep_; }

  /// Is all of its text valid UTF-8? Does not parse it. True without a body.
  [[nodiscard]] bool IsUtf8() const noexcept;

  /// Returns about how long the text is, in bytes, without making it; 0 without a body.
  [[nodiscard]] std::size_t size_hint() const noexcept;

 private:
  friend struct detail::BodyAccess;
  struct Rep;
  explicit Body(std::shared_ptr<Rep> rep) noexcept : rep_(std::move(rep)) {}
  [[nodiscard]] const detail::ExactJson& exact() const;
  std::shared_ptr<Rep> rep_;
};

}  // namespace doclock
