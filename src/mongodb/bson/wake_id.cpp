#include "mongodb/bson/wake_id.h"

#include <algorithm>

#include "doclock/errors.h"
#include "mongodb/bson/uuid_bounds.h"

namespace doclock::mongodb {

WakeId::WakeId(const Uuid& instance, const Uuid& lock_id) noexcept {
  std::copy(lock_id.begin(), lock_id.end(),
            std::copy(instance.begin(), instance.end(), data_.begin()));
}

void WakeId::AddTo(Doc& doc, std::string_view name) const {
  if (!bson_append_binary(doc.get(), name.data(), static_cast<int>(name.size()),
                          BSON_SUBTYPE_BINARY, data_.data(),
                          static_cast<std::uint32_t>(data_.size()))) {
    throw DocumentException("the document cannot be put into BSON");
  }
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
