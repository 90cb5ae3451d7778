#include "mongodb/layouts/layout_parts.h"

#include <algorithm>

#include "mongodb/protocol/lock_change.h"
#include "mongodb/protocol/stored_lock.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string FirstBadField(const bson_t& doc, std::span<const LayoutField> fields) {
  bson_iter_t at;
  if (bson_iter_init(&at, &doc)) {
    while (bson_iter_next(&at)) {
      const std::string_view name = bson_iter_key(&at);
      const auto is = [&](const LayoutField& field) { return name == field.name; };
      if (name != "_id" && std::none_of(fields.begin(), fields.end(), is)) return std::string(name);
    }
  }
  for (const LayoutField& field : fields) {
    if (!FindField(doc, field.name, at) || bson_iter_type(&at) != field.type) return field.name;
  }
  return {};
}

Doc GuardOf(const Key& key, const bson_t& seen, std::span<const LayoutField> fields) {
  Doc guard = Doc::Of("_id", Equals(key));
  for (const LayoutField& field : fields) AddAsSeen(guard, field.name, seen);
  return guard;
}

Doc StageOn(const Doc& filter, const Doc& stage) {
  Doc statement;
  statement.Add("q", filter).AddArray("u", Array().Add(stage).doc());
  return statement;
}

TimePoint SeenFrom(std::int64_t now, std::int64_t time) {
  const double away = static_cast<double>(time) - static_cast<double>(now);
  if (away > kLongestTimeMs) return kLookedAt + milliseconds(kLongestTimeMs);
  if (away < -kLongestTimeMs) return kLookedAt - milliseconds(kLongestTimeMs);
  return kLookedAt + milliseconds(time - now);
}

rules::Lease LeaseUntil(TimePoint end) {
  const auto left = std::chrono::ceil<milliseconds>(end - kLookedAt);
  return {kLookedAt + std::min(left, milliseconds(0)), std::max(left, milliseconds(0))};
}

std::string HexOf(const Uuid& id) {
  std::string text;
  for (const std::uint8_t byte : id) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::optional<Uuid> HolderIn(std::string_view hex) {
  Uuid id{};
  if (hex.size() != 2 * id.size()) return std::nullopt;
  for (std::size_t i = 0; i < hex.size(); ++i) {
    const std::size_t digit = kDigits.find(hex[i]);
    if (digit == kDigits.npos) return std::nullopt;
    std::uint8_t& byte = id.begin()[i / 2];
    byte = static_cast<std::uint8_t>(byte << 4 | digit);
  }
  if (id.is_nil() || id == kSharedLockId) return std::nullopt;
  return id;
}

}  // namespace doclock::mongodb
