#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "doclock/lock_provider.h"

namespace doclock::cli {

/// The longest owner or group, in bytes.
inline constexpr std::size_t kMaxOwnerBytes = 256;

/// `doclock run`.
struct RunOptions {
  std::string collection;
  std::string name;
  std::vector<std::string> command;
  Duration wait;
  Duration ttl = std::chrono::seconds(30);
  Duration min_hold;
  std::optional<Duration> kill_after;  ///< None: 5 s, or a quarter of the ttl if that is less.
  std::string owner;
  std::string group;
  std::string fence_env;  ///< Variable that tells the command its fence; empty: none.
  int shared = 0;         ///< The most holders together; 0: one, exclusively.
  int busy_exit = 75;
};

/// Holds the lock while the command runs. Returns the program's exit code.
/// @param open opens the store; called when signals are handled
/// @throws std::invalid_argument for bad options, and what the library throws
int RunCommand(const RunOptions& options, const std::function<std::shared_ptr<Store>()>& open);

}  // namespace doclock::cli
