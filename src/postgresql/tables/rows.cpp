#include "postgresql/tables/rows.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "doclock/json/uuid.h"
#include "postgresql/tables/texts.h"
#include "records/lock_json.h"

namespace doclock::postgresql {
namespace {

using Json = nlohmann::json;

/// Behind the key's columns.
enum Column : int {
  kVersion = 3,
  kId,
  kTime,
  kTtl,
  kSince,
  kClosed,
  kFence,
  kOwner,
  kGroup,
  kBorn,
  kReleased,
  kShares,
  kQueue,
  kBody
};

/// Applies Escaped or Unescaped to all texts but names.
void ChangeTexts(Json& part, std::string (*change)(std::string_view)) {
  if (part.is_string()) {
    part = change(part.get_ref<const std::string&>());
  } else if (part.is_structured()) {
    for (Json& member : part) ChangeTexts(member, change);
  }
}

/// The lock as records::FromJson reads it, which finds what is malformed.
Json LockJson(const Result& result, int row) {
  const auto time = [&](int column) {
    return TimeAt(result, row, column).time_since_epoch().count();
  };
  Json json{{"version", result.Number(row, kVersion)},
            {"born", result.Id(row, kBorn)},
            {"released", result.Id(row, kReleased)},
            {"since", time(kTime)},
            {"ttl", result.NumberIfAny(row, kTtl)},
            {"granted", time(kSince)},
            {"closed", time(kClosed)},
            {"fence", result.NumberIfAny(row, kFence)},
            {"run", ""}};  // a server's clock has only one
  if (!result.IsNull(row, kId)) json["id"] = result.Id(row, kId);
  if (!result.IsNull(row, kGroup)) json["group"] = Unescaped(result.Text(row, kGroup));
  for (const auto& [column, name] :
       {std::pair{kOwner, "owner"}, std::pair{kShares, "shares"}, std::pair{kQueue, "queue"}}) {
    if (result.IsNull(row, column)) continue;
    Json part = Json::parse(result.Jsonb(row, column), nullptr, false);
    // The server takes numbers that are none here: what is no part of a lock is malformed.
    if (part.is_discarded()) part = false;
    ChangeTexts(part, &Unescaped);
    json[name] = std::move(part);
  }
  return json;
}

void AddPart(Parameters& parameters, Json part) {
  if (part.is_null()) {
    parameters.Null();
  } else {
    ChangeTexts(part, &Escaped);
    parameters.Jsonb(part.dump());
  }
}

void AddGroup(Parameters& parameters, const std::string& group) {
  group.empty() ? parameters.Null() : parameters.Text(Escaped(group));
}

}  // namespace

TimePoint TimeAt(const Result& result, int row, int column) {
  constexpr std::int64_t kBounds = std::int64_t{1} << 51;  // in microseconds: 71 years
  const std::int64_t time = result.NumberIfAny(row, column);
  // Beyond, and for infinity: a time that no lock has.
  if (time < -kBounds || time > kBounds) return TimePoint(std::chrono::nanoseconds(-1));
  return TimePoint(std::chrono::microseconds(time));
}

FoundRow ReadRow(const Result& result, int row) {
  FoundRow found{KeyFrom(result, row, 0), {}, false};
  found.entry.body = Body::FromText(std::string(result.Text(row, kBody)));
  auto lock = records::FromJson(LockJson(result, row), {});
  found.malformed = !lock;
  if (lock) found.entry.lock = *std::move(lock);
  return found;
}

void AddLock(Parameters& parameters, const rules::LockState& lock) {
  const Json json = records::ToJson(lock, {});
  parameters.Int8(lock.version).Id(lock.lock_id).Time(lock.lease.since);
  parameters.Int8(lock.lease.ttl.count()).Time(lock.granted).Time(lock.closed_until);
  parameters.Int8(lock.fence);
  AddPart(parameters, json.value("owner", Json()));
  AddGroup(parameters, lock.group);
  parameters.Id(lock.born).Id(lock.released);
  for (const char* const part : {"shares", "queue"}) {
    AddPart(parameters, json.value(part, Json()));
  }
}

void AddGrant(Parameters& parameters, const GrantRequest& grant) {
  parameters.Id(grant.lock_id).Int8(grant.ttl.count());
  AddPart(parameters, grant.owner ? records::OwnerJson(*grant.owner) : Json());
  AddGroup(parameters, grant.group);
}

}  // namespace doclock::postgresql
