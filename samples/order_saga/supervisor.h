#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "options.h"
#include "saga.h"

namespace order_saga {

/// The files of a run.
struct Place {
  std::string store;             ///< URL.
  std::string collection;        ///< Fresh: no other run uses it.
  std::filesystem::path folder;  ///< For the journals.

  [[nodiscard]] std::filesystem::path journal(int worker) const {
    return folder / ("journal-" + std::to_string(worker) + ".jsonl");
  }
};

/// The events that the supervisor saw.
struct Outcome {
  double seconds = 0;
  std::size_t steps = 0;           ///< Steps that workers reported as done.
  int killed = 0;                  ///< Workers that were killed.
  int lost = 0;                    ///< Steps given up by workers that lost their lock.
  int take_overs = 0;              ///< Sagas that another worker went on with.
  double slowest_take_over = 0;    ///< From the kill to the next step, in seconds.
  double longest_wait = 0;         ///< Longest time a worker needed to get a lock, in seconds.
  std::vector<std::string> fails;  ///< What should not have happened.
};

/// Runs the workers until all sagas are done, and kills some of them on the way.
Outcome Supervise(const Options& options, const Place& place, const SagaRepository& sagas,
                  std::size_t total);

}  // namespace order_saga
