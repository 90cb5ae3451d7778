#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace order_saga {

/// The options of the program.
struct Options {
  std::filesystem::path input;
  std::string store;  ///< URL; empty: a SQLite file of this run's own.
  int workers = 3;
  int kill = 0;  ///< How many of the workers are killed.
  int ttl_ms = 3000;
  std::string half_way;  ///< A command of the shell; empty: none.
  bool keep = false;
};

/// The options of a worker process, on its command line.
struct WorkerOptions {
  int number = 0;
  std::string store;
  std::string collection;
  std::filesystem::path journal;
  std::chrono::milliseconds ttl{0};
};

/// Ends the program with help or a complaint where there is nothing to run.
Options ParseOptions(int argc, char** argv);

/// Was the program started by itself, as a worker?
bool IsWorker(int argc, char** argv);
/// Reads what WorkerProcess wrote.
WorkerOptions ParseWorkerOptions(int argc, char** argv);

}  // namespace order_saga
