#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "doclock/doclock.h"
#include "doclock/worker.h"

namespace order_saga {

/// The steps of every order, in this sequence.
inline constexpr std::array<std::string_view, 4> kSteps = {"reserve", "pay", "ship", "notify"};

/// A step that was done: by whom, under which lock.
struct HistoryEntry {
  std::string step;
  int worker = 0;
  std::int64_t fence = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HistoryEntry, step, worker, fence)

/// An order on its way: the document that is locked for each step.
struct Saga {
  std::string id;
  nlohmann::json payload;  ///< The input's object. Workers pass it on, whatever it holds.
  std::vector<HistoryEntry> history;
  bool done = false;
  doclock::Attempts attempts;
  doclock::LockFields lock;  ///< Not stored.
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Saga, id, payload, history, done, attempts)

using SagaRepository = doclock::LockingRepository<Saga>;

/// The step that is next.
inline std::string_view NextStep(const Saga& saga) { return kSteps.at(saga.history.size()); }

}  // namespace order_saga

/// A step names its lock by the version that the lock raised.
template <>
struct doclock::EntityTraits<order_saga::Saga> : DefaultEntityTraits<order_saga::Saga> {
  static constexpr auto kLockFields = &order_saga::Saga::lock;
};
