#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "doclock/doclock.h"

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
  std::int64_t due = 0;  ///< From when on it is to be worked on, ms since 1970.
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Saga, id, payload, history, done, due)

using SagaRepository = doclock::LockingRepository<Saga>;

/// The time as `Saga::due` has it.
inline std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// The step that is next.
inline std::string_view NextStep(const Saga& saga) { return kSteps.at(saga.history.size()); }

}  // namespace order_saga
