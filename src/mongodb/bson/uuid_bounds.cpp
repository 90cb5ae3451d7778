#include "mongodb/bson/uuid_bounds.h"

#include <algorithm>

#include "doclock/errors.h"

namespace doclock::mongodb {

Uuid LowestUuid() noexcept { return Uuid{}; }

Uuid HighestUuid() noexcept {
  constexpr std::uint8_t kAll = 0xff;
  Uuid highest;
  std::fill(highest.begin(), highest.end(), kAll);
  return highest;
}

Doc& AddLegacyUuid(Doc& doc, std::string_view name, const Uuid& id) {
  if (!bson_append_binary(doc.get(), name.data(), static_cast<int>(name.size()),
                          BSON_SUBTYPE_UUID_DEPRECATED, id.data,
                          static_cast<std::uint32_t>(id.size()))) {
    throw DocumentException("the document cannot be put into BSON");
  }
  return doc;
}

bool IsLegacyUuid(const bson_iter_t& value) {
  if (!BSON_ITER_HOLDS_BINARY(&value)) return false;
  bson_subtype_t subtype = BSON_SUBTYPE_BINARY;
  bson_iter_binary(&value, &subtype, nullptr, nullptr);
  Uuid id;
  return subtype == BSON_SUBTYPE_UUID_DEPRECATED && ReadUuid(value, id);
}

}  // namespace doclock::mongodb
