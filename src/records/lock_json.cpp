#include "records/lock_json.h"

#include <algorithm>
#include <utility>

#include "doclock/uuid_json.h"

namespace doclock::records {
namespace {

using Json = nlohmann::json;
using rules::Intent;
using rules::Lease;
using rules::LockState;
using rules::Share;

/// The highest stored version; the numbers above it will never be used up.
constexpr std::int64_t kHighestVersion = std::int64_t{1} << 62;
/// No clock that counts from a boot reaches this; the sum of two does not overflow.
constexpr std::int64_t kLatestTime = std::int64_t{1} << 61;
constexpr std::int64_t kLongestTtl = std::int64_t{1000} * 3600 * 24 * 365;

std::int64_t Count(TimePoint time) noexcept { return time.time_since_epoch().count(); }

Json ToJson(const LockHolder& owner) {
  return {{"name", owner.name}, {"host", owner.host}, {"pid", owner.pid}};
}

void AddLease(Json& json, const Lease& lease) {
  json["since"] = Count(lease.since);
  json["ttl"] = lease.ttl.count();
}

Json ToJson(const Share& share) {
  Json json{{"id", share.id}, {"granted", Count(share.granted)}, {"fence", share.fence}};
  AddLease(json, share.lease);
  if (share.owner) json["owner"] = ToJson(*share.owner);
  if (!share.group.empty()) json["group"] = share.group;
  return json;
}

/// Reads members, each of one type and within its bounds. Throws what nlohmann/json or the inverse
/// of ToText throws, or std::out_of_range.
class Members {
 public:
  explicit Members(const Json& json) : json_(json.get_ref<const Json::object_t&>()) {}

  [[nodiscard]] bool Has(const char* name) const { return json_.contains(name); }
  [[nodiscard]] const Json& At(const char* name) const { return json_.at(name); }
  [[nodiscard]] std::int64_t Number(const char* name, std::int64_t highest) const {
    const Json& value = At(name);
    if (!value.is_number_integer()) throw std::out_of_range(name);
    const auto number = value.get<std::int64_t>();
    if (number < 0 || number > highest) throw std::out_of_range(name);
    return number;
  }
  [[nodiscard]] TimePoint Time(const char* name) const {
    return TimePoint(TimePoint::duration(Number(name, kLatestTime)));
  }
  [[nodiscard]] Uuid Id(const char* name) const { return At(name).get<Uuid>(); }
  [[nodiscard]] std::string Text(const char* name) const {
    return Has(name) ? At(name).get_ref<const std::string&>() : std::string();
  }
  [[nodiscard]] Lease TheLease() const {
    return {Time("since"), std::chrono::milliseconds(Number("ttl", kLongestTtl))};
  }
  [[nodiscard]] OwnerPtr Owner() const {
    if (!Has("owner")) return nullptr;
    const Members owner(At("owner"));
    LockHolder holder{owner.Text("name"), owner.Text("host"), owner.Number("pid", INT64_MAX)};
    return std::make_shared<const LockHolder>(std::move(holder));
  }

 private:
  const Json::object_t& json_;
};

Share ShareFrom(const Json& json) {
  const Members members(json);
  return {members.Id("id"), members.Time("granted"), members.TheLease(),
          members.Owner(),  members.Text("group"),   members.Number("fence", kHighestVersion)};
}

LockState StateFrom(const Json& json) {
  const Members members(json);
  LockState lock;
  lock.version = members.Number("version", kHighestVersion);
  lock.born = members.Id("born");
  lock.released = members.Id("released");
  lock.lease = members.TheLease();
  lock.granted = members.Time("granted");
  lock.closed_until = members.Time("closed");
  lock.fence = members.Number("fence", kHighestVersion);
  lock.owner = members.Owner();
  lock.group = members.Text("group");
  if (members.Has("id")) lock.lock_id = members.Id("id");
  if (members.Has("shares")) {
    for (const Json& share : members.At("shares")) lock.shares.push_back(ShareFrom(share));
  }
  if (members.Has("intent")) {
    const Members intent(members.At("intent"));
    lock.intent = {intent.Id("id"), intent.Time("until")};
  }
  if (lock.IsShared() == lock.shares.empty()) throw std::out_of_range("shares");
  return lock;
}

/// Times of another run of the clock tell only lengths.
void BeginAnew(LockState& lock, TimePoint now) noexcept {
  const auto closed_for = lock.closed_until - lock.lease.since;
  lock.closed_until = closed_for.count() > 0 ? now + closed_for : TimePoint{};
  if (lock.lease.since != TimePoint{}) lock.lease.since = lock.granted = now;
  for (Share& share : lock.shares) share.lease.since = share.granted = now;
  lock.intent = {};
}

}  // namespace

nlohmann::json ToJson(const LockState& lock, const std::string& run) {
  Json json{{"version", lock.version},
            {"born", lock.born},
            {"released", lock.released},
            {"granted", Count(lock.granted)},
            {"closed", Count(lock.closed_until)},
            {"fence", lock.fence},
            {"run", run}};
  AddLease(json, lock.lease);
  if (lock.HasLockId()) json["id"] = lock.lock_id;
  if (lock.owner) json["owner"] = ToJson(*lock.owner);
  if (!lock.group.empty()) json["group"] = lock.group;
  for (const Share& share : lock.shares) json["shares"].push_back(ToJson(share));
  if (!lock.intent.id.is_nil()) {
    json["intent"] = {{"id", lock.intent.id}, {"until", Count(lock.intent.until)}};
  }
  return json;
}

std::optional<LockState> FromJson(const nlohmann::json& json, const std::string& run, TimePoint now,
                                  bool& moved) {
  try {
    LockState lock = StateFrom(json);
    moved = json.at("run").get_ref<const std::string&>() != run;
    if (moved) BeginAnew(lock, now);
    return lock;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace doclock::records
