#include "mongodb/bson/uuids.h"

#include <algorithm>

#include "doclock/errors.h"

namespace doclock::mongodb {
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
