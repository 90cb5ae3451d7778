#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
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
  std::string fence_env;    ///< Variable that tells the command its fence; empty: none.
  std::int64_t shared = 0;  ///< The most holders together; 0: one, exclusively.
  std::int64_t busy_exit = 75;
};

/// Opens the store. The argument is how long it may wait for a server; none: the store's own time.
using OpenWithin =
    std::function<std::shared_ptr<Store>(std::optional<std::chrono::milliseconds> patience)>;

/// Holds the lock while the command runs. Returns the program's exit code.
/// @param open is called on another thread when signals are handled
/// @throws std::invalid_argument for bad options, and what the library throws
int RunCommand(const RunOptions& options, const OpenWithin& open);

}  // namespace doclock::cli
