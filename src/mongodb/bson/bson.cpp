#include "mongodb/bson/bson.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <variant>

#include "doclock/errors.h"
#include "document/values/decimal_text.h"
#include "document/values/utf8.h"

namespace doclock::mongodb {
namespace {

int Size(std::string_view text) noexcept { return static_cast<int>(text.size()); }

/// libbson refuses a name with NUL and a document above 2 GB.
void Check(bool appended) {
  if (!appended) throw DocumentException("the document cannot be put into BSON");
}

}  // namespace

Doc& Doc::Add(std::string_view name, std::string_view value) {
  Check(bson_append_utf8(&bson_, name.data(), Size(name), value.data(), Size(value)));
  return *this;
}

Doc& Doc::Add(std::string_view name, std::int64_t value) {
  Check(bson_append_int64(&bson_, name.data(), Size(name), value));
  return *this;
}

Doc& Doc::Add(std::string_view name, int value) {
  Check(bson_append_int32(&bson_, name.data(), Size(name), value));
  return *this;
}

Doc& Doc::Add(std::string_view name, bool value) {
  Check(bson_append_bool(&bson_, name.data(), Size(name), value));
  return *this;
}

Doc& Doc::Add(std::string_view name, double value) {
  Check(bson_append_double(&bson_, name.data(), Size(name), value));
  return *this;
}

Doc& Doc::Add(std::string_view name, const Uuid& value) {
  Check(bson_append_binary(&bson_, name.data(), Size(name), BSON_SUBTYPE_UUID, value.data,
                           static_cast<std::uint32_t>(value.size())));
  return *this;
}

Doc& Doc::Add(std::string_view name, const Key& key) {
  struct Visitor {
    Doc& doc;
    std::string_view name;
    Doc& operator()(const std::string& text) const { return doc.Add(name, std::string_view(text)); }
    Doc& operator()(std::int64_t number) const { return doc.Add(name, number); }
    Doc& operator()(const Uuid& id) const { return doc.Add(name, id); }
    Doc& operator()(const ObjectId& id) const {
      bson_oid_t oid;
      bson_oid_init_from_data(&oid, id.bytes.data());
      Check(bson_append_oid(&doc.bson_, name.data(), Size(name), &oid));
      return doc;
    }
  };
  return std::visit(Visitor{*this, name}, key.value());
}

Doc& Doc::Add(std::string_view name, const Doc& value) {
  Check(bson_append_document(&bson_, name.data(), Size(name), value.get()));
  return *this;
}

Doc& Doc::Add(std::string_view name, const bson_value_t& value) {
  Check(bson_append_value(&bson_, name.data(), Size(name), &value));
  return *this;
}

Doc& Doc::Add(std::string_view name, const Array& values) { return AddArray(name, values.doc()); }

Doc& Doc::AddNull(std::string_view name) {
  Check(bson_append_null(&bson_, name.data(), Size(name)));
  return *this;
}

Doc& Doc::AddArray(std::string_view name, const Doc& values) {
  Check(bson_append_array(&bson_, name.data(), Size(name), values.get()));
  return *this;
}

Doc& Doc::AddStrings(std::string_view name, std::initializer_list<std::string_view> values) {
  Array array;
  for (const std::string_view value : values) array.Add(value);
  return Add(name, array);
}

Doc NoArray(Doc condition) {
  condition.Add("$not", Doc::Of("$type", "array"));
  return condition;
}

int TypeCode(bson_type_t type) {
  constexpr int kMinKeyCode = -1;  // where libbson says 255
  return type == BSON_TYPE_MINKEY ? kMinKeyCode : static_cast<int>(type);
}

Doc TypeOtherThan(std::initializer_list<bson_type_t> types) {
  static constexpr std::array kAll = {
      BSON_TYPE_DOUBLE,    BSON_TYPE_UTF8,      BSON_TYPE_DOCUMENT,   BSON_TYPE_ARRAY,
      BSON_TYPE_BINARY,    BSON_TYPE_UNDEFINED, BSON_TYPE_OID,        BSON_TYPE_BOOL,
      BSON_TYPE_DATE_TIME, BSON_TYPE_NULL,      BSON_TYPE_REGEX,      BSON_TYPE_DBPOINTER,
      BSON_TYPE_CODE,      BSON_TYPE_SYMBOL,    BSON_TYPE_CODEWSCOPE, BSON_TYPE_INT32,
      BSON_TYPE_TIMESTAMP, BSON_TYPE_INT64,     BSON_TYPE_DECIMAL128, BSON_TYPE_MAXKEY,
      BSON_TYPE_MINKEY};
  Array codes;
  for (const bson_type_t type : kAll) {
    if (std::find(types.begin(), types.end(), type) != types.end()) continue;
    codes.Add(TypeCode(type));
  }
  return Doc::Of("$type", codes);
}

bool FindField(const bson_t& doc, const std::string& name, bson_iter_t& found) {
  return bson_iter_init(&found, &doc) != 0 &&
         bson_iter_find_w_len(&found, name.data(), static_cast<int>(name.size()));
}

bool DocumentAt(const bson_iter_t& iter, bson_t& found) {
  if (!BSON_ITER_HOLDS_DOCUMENT(&iter)) return false;
  std::uint32_t size = 0;
  const std::uint8_t* data = nullptr;
  bson_iter_document(&iter, &size, &data);
  return bson_init_static(&found, data, size);
}

bool FindDocument(const bson_t& doc, const char* name, bson_t& found) {
  bson_iter_t iter;
  return bson_iter_init_find(&iter, &doc, name) && DocumentAt(iter, found);
}

std::string TextAt(const bson_t& doc, const char* name) {
  bson_iter_t field;
  if (!FindField(doc, name, field) || !BSON_ITER_HOLDS_UTF8(&field)) return {};
  std::uint32_t size = 0;
  const char* const text = bson_iter_utf8(&field, &size);
  return {text, size};
}

bool FlagAt(const bson_t& doc, const char* name) {
  bson_iter_t field;
  return FindField(doc, name, field) && bson_iter_as_bool(&field);
}

std::size_t CountIn(const bson_t& doc, const char* array) {
  std::size_t count = 0;
  ForEachItem(doc, array, [&](const bson_iter_t&) { return ++count > 0; });
  return count;
}

std::optional<std::int64_t> PlaceIn(const bson_t& row, std::int64_t first, std::size_t count) {
  bson_iter_t iter;
  if (!FindField(row, "place", iter) || !BSON_ITER_HOLDS_INT(&iter)) return std::nullopt;
  const std::int64_t told = bson_iter_as_int64(&iter);
  if (told < first - 1 || told >= first + static_cast<std::int64_t>(count)) return std::nullopt;
  return told - first;
}

bool ReadUuid(const bson_iter_t& value, Uuid& id) {
  if (!BSON_ITER_HOLDS_BINARY(&value)) return false;
  bson_subtype_t subtype = BSON_SUBTYPE_BINARY;
  std::uint32_t size = 0;
  const std::uint8_t* data = nullptr;
  bson_iter_binary(&value, &subtype, &size, &data);
  if (size != id.size()) return false;
  if (subtype != BSON_SUBTYPE_UUID && subtype != BSON_SUBTYPE_UUID_DEPRECATED) return false;
  std::memcpy(id.data, data, size);
  return true;
}

namespace {

bool TextKey(const char* text, std::uint32_t size, Key& key) {
  if (size > kMaxKeyBytes || !detail::IsUtf8({text, size})) return false;
  key = Key(std::string(text, size));
  return true;
}

bool DoubleKey(double number, Key& key) {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (!(number >= -kEnd && number < kEnd) || number != std::trunc(number)) return false;
  key = Key(static_cast<std::int64_t>(number));
  return true;
}

bool DecimalKey(const bson_iter_t& value, Key& key) {
  bson_decimal128_t decimal;
  std::array<char, BSON_DECIMAL128_STRING> text{};
  if (!bson_iter_decimal128(&value, &decimal)) return false;
  bson_decimal128_to_string(&decimal, text.data());
  const auto parts = detail::ParseDecimal(text.data());
  if (!parts) return false;
  const std::optional<std::int64_t> number = detail::WholeNumber(*parts);
  if (number) key = Key(*number);
  return number.has_value();
}

}  // namespace

bool ReadKey(const bson_iter_t& value, Key& key) {
  std::uint32_t size = 0;
  switch (bson_iter_type(&value)) {
    case BSON_TYPE_UTF8: {
      const char* const text = bson_iter_utf8(&value, &size);
      return TextKey(text, size, key);
    }
    case BSON_TYPE_SYMBOL: {
      const char* const text = bson_iter_symbol(&value, &size);
      return TextKey(text, size, key);
    }
    case BSON_TYPE_DOUBLE:
      return DoubleKey(bson_iter_double(&value), key);
    case BSON_TYPE_DECIMAL128:
      return DecimalKey(value, key);
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64:
      key = Key(bson_iter_as_int64(&value));
      return true;
    case BSON_TYPE_OID: {
      ObjectId id;
      std::memcpy(id.bytes.data(), bson_iter_oid(&value)->bytes, id.bytes.size());
      key = Key(id);
      return true;
    }
    case BSON_TYPE_BINARY: {
      // Another document may have the same bytes with the older subtype.
      bson_subtype_t subtype = BSON_SUBTYPE_BINARY;
      bson_iter_binary(&value, &subtype, nullptr, nullptr);
      Uuid id;
      if (subtype != BSON_SUBTYPE_UUID || !ReadUuid(value, id)) return false;
      key = Key(id);
      return true;
    }
    default:
      return false;
  }
}

namespace {

template <class Bytes>
Doc& AddBinary(Doc& doc, std::string_view name, bson_subtype_t subtype, const Bytes& bytes) {
  if (bson_append_binary(doc.get(), name.data(), static_cast<int>(name.size()), subtype,
                         bytes.begin(), static_cast<std::uint32_t>(bytes.size()))) {
    return doc;
  }
  throw DocumentException("the document cannot be put into BSON");
}

}  // namespace

Uuid LowestUuid() noexcept { return Uuid{}; }

Uuid HighestUuid() noexcept {
  constexpr std::uint8_t kAll = 0xff;
  Uuid highest;
  std::fill(highest.begin(), highest.end(), kAll);
  return highest;
}

Doc& AddLegacyUuid(Doc& doc, std::string_view name, const Uuid& id) {
  return AddBinary(doc, name, BSON_SUBTYPE_UUID_DEPRECATED, id);
}

bool IsLegacyUuid(const bson_iter_t& value) {
  if (!BSON_ITER_HOLDS_BINARY(&value)) return false;
  bson_subtype_t subtype = BSON_SUBTYPE_BINARY;
  bson_iter_binary(&value, &subtype, nullptr, nullptr);
  Uuid id;
  return subtype == BSON_SUBTYPE_UUID_DEPRECATED && ReadUuid(value, id);
}

WakeId::WakeId(const Uuid& instance, const Uuid& lock_id) noexcept {
  std::copy(lock_id.begin(), lock_id.end(),
            std::copy(instance.begin(), instance.end(), data_.begin()));
}

void WakeId::AddTo(Doc& doc, std::string_view name) const {
  AddBinary(doc, name, BSON_SUBTYPE_BINARY, data_);
}

std::optional<Uuid> WakeId::LockIdIn(const bson_iter_t& value) {
  if (!BSON_ITER_HOLDS_BINARY(&value)) return std::nullopt;
  std::uint32_t size = 0;
  const std::uint8_t* data = nullptr;
  bson_iter_binary(&value, nullptr, &size, &data);
  if (size != kSize) return std::nullopt;
  Uuid id;
  std::copy_n(data + kSize - id.size(), id.size(), id.begin());
  return id;
}

Doc WakeId::AllOf(const Uuid& instance) {
  Doc range;
  WakeId(instance, LowestUuid()).AddTo(range, "$gte");
  WakeId(instance, HighestUuid()).AddTo(range, "$lte");
  return range;
}

Doc WakeId::IsOf(const Uuid& instance, const std::string& field) {
  Doc from, to;
  WakeId(instance, LowestUuid()).AddTo(from.Add("0", FieldPath(field)), "1");
  WakeId(instance, HighestUuid()).AddTo(to.Add("0", FieldPath(field)), "1");
  Array both;
  both.Add(Doc::OfArray("$gte", from)).Add(Doc::OfArray("$lte", to));
  return Doc::Of("$and", both);
}

}  // namespace doclock::mongodb
