#include "cli/json/lock_json.h"

#include <chrono>

#include "cli/options/keys.h"

namespace doclock::cli {

using nlohmann::json;

const char* ModeOf(const LockStatus& lock) {
  return lock.mode == LockMode::kShared ? "shared" : "exclusive";
}

json JsonOf(const LockStatus& lock) {
  const auto granted =
      std::chrono::duration_cast<std::chrono::milliseconds>(lock.granted.time_since_epoch());
  const KeyText key = TextOf(lock.key);  // the name is escaped
  return {{"name", key.text},
          {"keyType", key.type},
          {"owner", lock.holder.name},
          {"host", lock.holder.host},
          {"pid", lock.holder.pid},
          {"group", lock.group},
          {"mode", ModeOf(lock)},
          {"fence", lock.fence ? json(*lock.fence) : json()},
          {"version", lock.version},
          {"held", !lock.unheld},
          {"closed", lock.closed},
          {"expired", lock.expired},
          {"malformed", lock.malformed},
          {"waiting", lock.waiting},
          {"next", lock.waiting > 0 ? json(lock.next.ToString()) : json()},
          {"ttlMs", lock.ttl.count()},
          {"remainingMs", lock.remaining.count()},
          {"ageMs", lock.age.count()},
          {"grantedMs", lock.unheld ? json() : json(granted.count())}};
}

json JsonOf(const std::vector<LockStatus>& locks) {
  json all = json::array();
  for (const LockStatus& lock : locks) all.push_back(JsonOf(lock));
  return all;
}

}  // namespace doclock::cli
