#include "records/lock_json.h"

#include <algorithm>
#include <utility>

#include "doclock/json/uuid.h"
#include "rules/rules.h"

namespace doclock::records {

nlohmann::json OwnerJson(const LockHolder& owner) {
  return {{"name", owner.name}, {"host", owner.host}, {"pid", owner.pid}};
}

namespace {

using Json = nlohmann::json;
using rules::Lease;
using rules::LockState;
using rules::QueueEntry;
using rules::Share;

/// No clock that counts from a boot reaches this; the sum of two does not overflow.
constexpr std::int64_t kLatestTime = std::int64_t{1} << 61;

std::int64_t Count(TimePoint time) noexcept { return time.time_since_epoch().count(); }

void AddLease(Json& json, const Lease& lease) {
  json["since"] = Count(lease.since);
  json["ttl"] = lease.ttl.count();
}

Json ToJson(const Share& share) {
  Json json{{"id", share.id}, {"granted", Count(share.granted)}, {"fence", share.fence}};
  AddLease(json, share.lease);
  if (share.owner) json["owner"] = OwnerJson(*share.owner);
  if (!share.group.empty()) json["group"] = share.group;
  return json;
}

Json ToJson(const QueueEntry& entry) {
  Json json{{"id", entry.id}, {"until", Count(entry.until)}, {"ttl", entry.ttl.count()}};
  if (entry.min_hold.count() > 0) json["hold"] = entry.min_hold.count();
  if (entry.owner) json["owner"] = OwnerJson(*entry.owner);
  if (!entry.group.empty()) json["group"] = entry.group;
  if (entry.detached) json["detached"] = true;
  if (entry.instance != 0) json["instance"] = entry.instance;
  if (entry.mode == LockMode::kShared) json["share"] = entry.max_holders;
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
  [[nodiscard]] std::chrono::milliseconds Length(const char* name) const {
    return std::chrono::milliseconds(Number(name, rules::kLongestLease.count()));
  }
  [[nodiscard]] TimePoint Time(const char* name) const {
    return TimePoint(TimePoint::duration(Number(name, kLatestTime)));
  }
  [[nodiscard]] Uuid Id(const char* name) const { return At(name).get<Uuid>(); }
  [[nodiscard]] std::string Text(const char* name) const {
    return Has(name) ? At(name).get_ref<const std::string&>() : std::string();
  }
  [[nodiscard]] Lease TheLease() const { return {Time("since"), Length("ttl")}; }
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
  return {members.Id("id"),      members.Time("granted"),
          members.TheLease(),    members.Owner(),
          members.Text("group"), members.Number("fence", rules::kHighestVersion)};
}

QueueEntry EntryFrom(const Json& json) {
  const Members members(json);
  QueueEntry entry;
  entry.id = members.Id("id");
  entry.until = members.Time("until");
  entry.ttl = members.Length("ttl");
  if (members.Has("hold")) entry.min_hold = members.Length("hold");
  entry.owner = members.Owner();
  entry.group = members.Text("group");
  entry.detached = members.Has("detached");
  if (members.Has("instance")) entry.instance = members.Number("instance", INT64_MAX);
  if (members.Has("share")) {
    entry.mode = LockMode::kShared;
    entry.max_holders = static_cast<int>(members.Number("share", kMaxHolders));
  }
  return entry;
}

LockState StateFrom(const Json& json) {
  const Members members(json);
  LockState lock;
  lock.version = members.Number("version", rules::kHighestVersion);
  lock.born = members.Id("born");
  lock.released = members.Id("released");
  lock.lease = members.TheLease();
  lock.granted = members.Time("granted");
  lock.closed_until = members.Time("closed");
  lock.fence = members.Number("fence", rules::kHighestVersion);
  lock.owner = members.Owner();
  lock.group = members.Text("group");
  if (members.Has("id")) lock.lock_id = members.Id("id");
  if (members.Has("shares")) {
    for (const Json& share : members.At("shares")) lock.shares.push_back(ShareFrom(share));
  }
  if (members.Has("queue")) {
    for (const Json& entry : members.At("queue")) lock.queue.push_back(EntryFrom(entry));
  }
  if (lock.IsShared() == lock.shares.empty()) throw std::out_of_range("shares");
  return lock;
}

/// Times of another run of the clock tell only lengths, which count from this run's beginning.
void BeginAnew(LockState& lock) noexcept {
  const auto closed_for = lock.closed_until - lock.lease.since;
  lock.closed_until = TimePoint(std::max(closed_for, TimePoint::duration::zero()));
  lock.lease.since = lock.granted = TimePoint{};
  for (Share& share : lock.shares) share.lease.since = share.granted = TimePoint{};
  if (lock.IsShared()) rules::Cover(lock, TimePoint{});  // another one may end last now
  lock.queue.clear();  // those waiters are gone, or place themselves anew
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
  if (lock.owner) json["owner"] = OwnerJson(*lock.owner);
  if (!lock.group.empty()) json["group"] = lock.group;
  for (const Share& share : lock.shares) json["shares"].push_back(ToJson(share));
  for (const QueueEntry& entry : lock.queue) json["queue"].push_back(ToJson(entry));
  return json;
}

std::optional<LockState> FromJson(const nlohmann::json& json, const std::string& run) {
  try {
    LockState lock = StateFrom(json);
    if (json.at("run").get_ref<const std::string&>() != run) BeginAnew(lock);
    return lock;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace doclock::records
