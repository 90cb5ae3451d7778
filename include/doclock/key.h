#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "doclock/export.h"
#include "doclock/uuid.h"

namespace doclock {

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
  /// An integer key. Any integer type but bool and characters (`signed char` and `unsigned char`
  /// are small integers).
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
