#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "doclock/store/store.h"
#include "process/head_count.h"

/// @file
/// What the programs do that tests start, stop and kill: they tell what they did, a line at a time,
/// and take orders from standard input.

namespace doclock::test {

using Arguments = std::vector<std::string>;

/// Where to tell it.
inline int told = STDOUT_FILENO;

/// In one piece, or not at all if we are killed.
inline void Tell(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(told, text.data(), text.size()) < 0) std::exit(2);
}

inline std::string NextOrder() {
  std::string line;
  if (!std::getline(std::cin, line)) std::exit(0);
  return line;
}

/// So many times takes a share and gives it back, and counts in the file who has one meanwhile;
/// goes on until `limit` were seen at once. Tells the most there ever were.
template <class Take, class GiveBack>
int Crowd(const std::string& file, int limit, int times, const Take& take,
          const GiveBack& give_back) {
  HeadCount heads(file);
  Tell("ready");
  NextOrder();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int i = 0; i < times || heads.most() < limit;) {
    if (i >= times && std::chrono::steady_clock::now() > deadline) break;
    const AcquireOp held = take();
    if (held.status == OpStatus::kBusy) continue;
    if (held.status != OpStatus::kDone) return 3;
    heads.Enter();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    heads.Leave();
    if (give_back(held.request.grant.lock_id).status != OpStatus::kDone) return 4;
    ++i;
  }
  Tell(std::to_string(heads.most()));
  return 0;
}

inline int Main(int argc, char** argv, int (*run)(const Arguments&)) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "helper: " << error.what() << "\n";
    return 1;
  }
}

}  // namespace doclock::test
