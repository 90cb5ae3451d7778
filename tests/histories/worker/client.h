#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "doclock/doclock.h"
#include "histories/worker/settings.h"

namespace doclock::histories {

using Json = nlohmann::json;

/// As the processes of an application have it. Threads share a few of them.
struct Client {
  Client(const std::shared_ptr<Store>& store, const Settings& settings)
      : manager(store, {.owner = "process " + std::to_string(settings.process),
                        .call_budget = std::chrono::milliseconds(settings.call_ms)}),
        things(manager, "things", {.ttl = std::chrono::milliseconds(settings.ttl_ms)}),
        accounts(manager, "accounts", {.ttl = std::chrono::milliseconds(settings.ttl_ms)}),
        names(manager, "names", {.ttl = std::chrono::milliseconds(settings.ttl_ms)}) {}
  LockManager manager;
  LockingRepository<Json> things;
  LockingRepository<Json> accounts;  ///< See Transfers.
  LockProvider names;
};

}  // namespace doclock::histories
