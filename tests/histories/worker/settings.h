#pragma once

#include <string>

namespace doclock::histories {

/// The worker's options, as run.py passes them.
struct Settings {
  std::string store, out;
  std::string broken;  ///< A way for Break; empty: the store is as it is.
  int process = 0, threads = 4, keys = 4, seconds = 5, ttl_ms = 1000, call_ms = 2000;
  int transfers = 1;  ///< More threads, which move amounts between accounts (see Transfers).
  int names = 16;     ///< Percent of the steps that take named locks; the others take documents.
  int together = 30;  ///< Percent of the transfers that an Update makes.
  unsigned seed = 1;
  bool queue = false;   ///< Each thread waits for the first key for long; for one thread.
  bool finish = false;  ///< Only takes every lock once, and records what the documents hold.
};

/// Reads the command line: --name value and so on. @throws std::exception for an unknown option
Settings ReadSettings(int argc, char** argv);

}  // namespace doclock::histories
