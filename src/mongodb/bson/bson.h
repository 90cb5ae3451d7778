#pragma once

#include <bson/bson.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "doclock/document.h"

namespace doclock::mongodb {

class Array;

/// A BSON document being built. Move-only, so that it is not copied by accident.
class Doc {
 public:
  Doc() { bson_init(&bson_); }
  Doc(Doc&& other) noexcept : Doc() { bson_steal(&bson_, &other.bson_), bson_init(&other.bson_); }
  Doc(const Doc&) = delete;
  Doc& operator=(const Doc&) = delete;
  Doc& operator=(Doc&& other) noexcept {
    if (this != &other) {
      bson_destroy(&bson_);
      bson_steal(&bson_, &other.bson_);
      bson_init(&other.bson_);
    }
    return *this;
  }
  ~Doc() { bson_destroy(&bson_); }

  Doc& Add(std::string_view name, const char* value) { return Add(name, std::string_view(value)); }
  Doc& Add(std::string_view name, const std::string& value) {
    return Add(name, std::string_view(value));
  }
  Doc& Add(std::string_view name, std::string_view value);
  Doc& Add(std::string_view name, std::int64_t value);
  Doc& Add(std::string_view name, int value);
  Doc& Add(std::string_view name, bool value);
  Doc& Add(std::string_view name, double value);
  Doc& Add(std::string_view name, std::chrono::milliseconds value) {
    return Add(name, std::int64_t{value.count()});
  }
  Doc& Add(std::string_view name, const Uuid& value);
  Doc& Add(std::string_view name, const Key& value);
  Doc& Add(std::string_view name, const Doc& value);
  Doc& Add(std::string_view name, const bson_value_t& value);
  Doc& Add(std::string_view name, const Array& values);
  Doc& Add(std::string_view name, std::nullptr_t) { return AddNull(name); }
  Doc& AddNull(std::string_view name);
  /// { name: [values] }, of a document whose names are 0, 1, 2...: see Array.
  Doc& AddArray(std::string_view name, const Doc& values);
  Doc& AddStrings(std::string_view name, std::initializer_list<std::string_view> values);

  /// { name: value }, the most common document.
  template <class T>
  static Doc Of(std::string_view name, const T& value) {
    Doc doc;
    doc.Add(name, value);
    return doc;
  }
  static Doc OfNull(std::string_view name) {
    Doc doc;
    doc.AddNull(name);
    return doc;
  }
  static Doc OfArray(std::string_view name, const Doc& values) {
    Doc doc;
    doc.AddArray(name, values);
    return doc;
  }

  /// Empties it and keeps its memory.
  void Clear() { bson_reinit(&bson_); }

  [[nodiscard]] const bson_t* get() const noexcept { return &bson_; }
  [[nodiscard]] bson_t* get() noexcept { return &bson_; }
  [[nodiscard]] bool empty() const noexcept { return bson_empty(&bson_); }

 private:
  bson_t bson_;
};

/// A BSON array being built.
class Array {
 public:
  template <class T>
  Array& Add(const T& value) {
    doc_.Add(std::to_string(count_++), value);
    return *this;
  }
  [[nodiscard]] const Doc& doc() const noexcept { return doc_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  Doc doc_;
  std::size_t count_ = 0;
};

/// The condition for exactly this value: user values stand behind $eq, where nothing evaluates
/// them.
template <class T>
Doc Equals(const T& value) {
  return Doc::Of("$eq", value);
}

/// The condition, and that the value is no array: MongoDB's comparisons look into one.
Doc NoArray(Doc condition);
/// A type as $type takes it.
int TypeCode(bson_type_t type);
/// A condition of a filter: the value is there, and of none of these types. (In an array MongoDB
/// looks at the elements too.)
Doc TypeOtherThan(std::initializer_list<bson_type_t> types);

/// A field's name in expressions.
inline std::string FieldPath(const std::string& field) { return "$" + field; }

/// Owns what libbson allocated. (A unique_ptr's type would drop bson_t's alignment.)
class OwnedBson {
 public:
  explicit OwnedBson(bson_t* bson) noexcept : bson_(bson) {}
  OwnedBson(const OwnedBson&) = delete;
  OwnedBson& operator=(const OwnedBson&) = delete;
  ~OwnedBson() { bson_destroy(bson_); }

 private:
  bson_t* bson_;
};

/// Finds the value at a top-level name; false if there is none.
bool FindField(const bson_t& doc, const std::string& name, bson_iter_t& found);
/// Reads the document at an iterator; false if it is none.
bool DocumentAt(const bson_iter_t& iter, bson_t& found);
/// The document at a top-level name.
bool FindDocument(const bson_t& doc, const char* name, bson_t& found);
/// The text at a top-level name; empty if there is none.
std::string TextAt(const bson_t& doc, const char* name);
/// Is the value at a top-level name true, as the server takes it? False if there is none.
bool FlagAt(const bson_t& doc, const char* name);
/// Shows the items of the array at a top-level name to `visit`, until it returns false.
template <class Visit>
void ForEachItem(const bson_t& doc, const char* array, const Visit& visit) {
  bson_iter_t field, item;
  const bson_iter_t& shown = item;  // std::as_const would drop bson_iter_t's alignment
  if (!bson_iter_init_find(&field, &doc, array) || !bson_iter_recurse(&field, &item)) return;
  while (bson_iter_next(&item) && visit(shown)) {
  }
}
/// The length of the array at a top-level name; 0 if there is none.
std::size_t CountIn(const bson_t& doc, const char* array);
/// Reads the "place" that PlaceAmong (expressions.h) returned: below `count`, or -1. Nothing: the
/// row answers another question.
std::optional<std::int64_t> PlaceIn(const bson_t& row, std::int64_t first, std::size_t count);
/// A binary of 16 bytes, as a UUID of either subtype.
bool ReadUuid(const bson_iter_t& value, Uuid& id);
/// The key that the server takes for this `_id`: to it 5, 5.0 and decimal 5 are one, and so are a
/// text and a symbol.
bool ReadKey(const bson_iter_t& value, Key& key);

// Binaries compare by length, subtype and bytes: what lies between two UUIDs is a UUID, of the
// subtype of one of them.

/// The lowest UUID, and the highest.
Uuid LowestUuid() noexcept;
Uuid HighestUuid() noexcept;

/// A UUID of subtype 3, as drivers wrote them before there was subtype 4.
Doc& AddLegacyUuid(Doc& doc, std::string_view name, const Uuid& id);
bool IsLegacyUuid(const bson_iter_t& value);

/// Names a waiter in a document's queue: the id of its store instance, then its lock id. Each
/// instance asks its change streams for the wake ids that begin with its own id.
class WakeId {
 public:
  WakeId(const Uuid& instance, const Uuid& lock_id) noexcept;
  /// Adds it to a document. @throws DocumentException
  void AddTo(Doc& doc, std::string_view name) const;
  /// Reads the lock id of a wake id; nothing if the value is none.
  static std::optional<Uuid> LockIdIn(const bson_iter_t& value);
  /// A condition of a filter: the wake ids of this instance.
  static Doc AllOf(const Uuid& instance);
  /// The same as an expression, of a field.
  static Doc IsOf(const Uuid& instance, const std::string& field);

 private:
  static constexpr std::size_t kSize = 32;
  std::array<std::uint8_t, kSize> data_{};
};

}  // namespace doclock::mongodb
