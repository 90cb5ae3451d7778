#pragma once

/// @file
/// What a document is: a key within its collection, and a body.

#include <array>
#include <boost/uuid/uuid.hpp>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "doclock/export.h"

namespace doclock {

/// The identifier type of locks and documents.
using Uuid = boost::uuids::uuid;

/// Returns a fresh random (version 4) UUID whose bits come from the operating system. Thread-safe
/// and fork-safe: a child process never repeats its parent's ids. @throws std::system_error if the
/// operating system fails to give random bytes.
DOCLOCK_EXPORT Uuid NewUuid();

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

/// Twelve opaque bytes: the key type MongoDB gives documents by default.
struct ObjectId {
  /// The bytes, most significant first.
  std::array<std::uint8_t, 12> bytes{};
  /// Byte-wise.
  friend auto operator<=>(const ObjectId&, const ObjectId&) noexcept = default;
};

/// Is it a type of characters, which is neither a text nor a number?
template <class C>
concept Character = std::same_as<C, char> || std::same_as<C, wchar_t> || std::same_as<C, char8_t> ||
                    std::same_as<C, char16_t> || std::same_as<C, char32_t>;

/// The longest string key, in bytes.
inline constexpr std::size_t kMaxKeyBytes = 1024;

/// A document's key within its collection: a string, a 64-bit integer, a UUID or an ObjectId.
/// Keys of different types differ, even if they print alike. A value type.
class DOCLOCK_EXPORT Key {
 public:
  /// The alternatives, in the order of `index()`.
  using Value = std::variant<std::string, std::int64_t, Uuid, ObjectId>;

  /// The empty string, which is a key like any other.
  Key() = default;
  /// A string key. @throws std::invalid_argument if it is not valid UTF-8 or is longer than
  /// kMaxKeyBytes.
  Key(std::string text);  // NOLINT(google-explicit-constructor)
  /// A string key, from a copy of the text.
  Key(std::string_view text) : Key(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  /// A string key, from a text that ends with NUL. `nullptr` does not compile; a null pointer in a
  /// variable is the caller's error.
  Key(const char* text) : Key(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  /// Deleted: `Lock(nullptr)` and `Lock(0)` on a string key are mistakes.
  Key(std::nullptr_t) = delete;
  /// Makes an integer key, from any integer type but bool and characters (`signed char` and
  /// `unsigned char` are small integers).
  template <std::integral I>
    requires(!std::same_as<I, bool> && !Character<I> && sizeof(I) <= sizeof(std::int64_t))
  Key(I number) : value_(CheckedInt(number)) {}  // NOLINT(google-explicit-constructor)
  /// A UUID key.
  Key(const Uuid& id) : value_(id) {}  // NOLINT(google-explicit-constructor)
  /// An ObjectId key.
  Key(const ObjectId& id) : value_(id) {}  // NOLINT(google-explicit-constructor)

  /// Returns the value itself.
  [[nodiscard]] const Value& value() const noexcept { return value_; }

  /// Returns the key as text, diagnostic only: strings as they are (control characters escaped),
  /// numbers in decimal, UUID and ObjectId in hexadecimal.
  [[nodiscard]] std::string ToString() const;

  /// Returns a hash of type and value; the same in every program whose `std::size_t` is as wide.
  [[nodiscard]] std::size_t Hash() const noexcept;

  /// Compares type and value. The order is by type, then by value; LockAll sorts by it.
  friend bool operator==(const Key&, const Key&) noexcept = default;
  /// See operator==.
  friend auto operator<=>(const Key& a, const Key& b) noexcept { return Compare(a, b); }

 private:
  static std::strong_ordering Compare(const Key& a, const Key& b) noexcept;
  template <std::integral I>
  static std::int64_t CheckedInt(I number) {
    if constexpr (sizeof(I) == sizeof(std::int64_t) && std::unsigned_integral<I>) {
      if (number > static_cast<I>(INT64_MAX)) ThrowKeyTooLarge();
    }
    return static_cast<std::int64_t>(number);
  }
  [[noreturn]] static void ThrowKeyTooLarge();

  Value value_;
};

}  // namespace doclock

/// Hashes a Key by type and value.
template <>
struct std::hash<doclock::Key> {
  /// See Key::Hash.
  std::size_t operator()(const doclock::Key& key) const noexcept { return key.Hash(); }
};
