#include "options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "doclock/options.h"

namespace order_saga {
namespace {

constexpr int kUsageError = 2;
constexpr int kWorkerArguments = 7;

}  // namespace

Options ParseOptions(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Drives orders through their steps with worker processes, kills some of them on the way, "
      "and\n"
      "proves afterwards that every step of every order was done exactly once."};
  app.add_option("--input", options.input, "JSON Lines file; each line is one order, any object")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--store", options.store,
                 "URL of the store, such as sqlite:orders.db (default: a SQLite file in the "
                 "temporary folder, removed afterwards)");
  app.add_option("--workers", options.workers, "Worker processes")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  const auto* kill =
      app.add_option("--kill", options.kill,
                     "Workers killed with SIGKILL while they hold a lock (default: 1)")
          ->check(CLI::Range(0, 63));
  app.add_option("--ttl", options.ttl_ms, "Length of a lock's lease in milliseconds")
      ->check(CLI::Range(static_cast<int>(doclock::kMinTtl.count()),
                         static_cast<int>(doclock::kMaxTtl.count())))
      ->capture_default_str();
  app.add_option("--half-way", options.half_way,
                 "Command of the shell, run once half of the steps are done: to disturb the store");
  app.add_flag("--keep", options.keep, "Keep the sagas and the workers' journals afterwards");
  try {
    app.parse(argc, argv);
    if (kill->empty()) options.kill = std::min(1, options.workers - 1);
    if (options.kill >= options.workers) {
      throw CLI::ValidationError("--kill", "at least one worker must survive");
    }
    if (std::string_view(options.store).starts_with("memory:")) {
      throw CLI::ValidationError("--store", "worker processes cannot share a memory store");
    }
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? EXIT_SUCCESS : kUsageError);
  }
  return options;
}

bool IsWorker(int argc, char** argv) {
  return argc == kWorkerArguments && std::string_view(argv[1]) == "--worker";
}

WorkerOptions ParseWorkerOptions(int, char** argv) {
  return {.number = std::stoi(argv[2]),
          .store = argv[3],
          .collection = argv[4],
          .journal = argv[5],
          .ttl = std::chrono::milliseconds(std::stoi(argv[6]))};
}

}  // namespace order_saga
