#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>

#include "document/values/utf8.h"

/// @file
/// What an outbox and a worker have in common.

namespace doclock::detail {

/// How much of an exception's text is stored.
inline constexpr std::size_t kErrorBytes = 500;
/// The pause of a thread after a failure of the store.
inline constexpr auto kPause = std::chrono::seconds(1);

/// What was thrown, as a text that can be stored.
inline std::string TextOf(const std::exception_ptr& error) {
  std::string text;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    AppendEscaped(text, std::string_view(e.what()).substr(0, kErrorBytes));
  } catch (...) {
    text = "unknown";
  }
  return text;
}

/// The pause after so many failed attempts, at least one. `Options` has the shortest and the
/// longest.
template <class Options>
std::chrono::milliseconds PauseAfter(int attempts, const Options& options) {
  constexpr int kMostDoublings = 35;  // a millisecond is longer than a year then
  const auto factor = std::int64_t{1} << std::clamp(attempts - 1, 0, kMostDoublings);
  const std::chrono::milliseconds most = options.retry_max.ms();
  return options.retry_min.ms() > most / factor ? most : options.retry_min.ms() * factor;
}

/// @throws std::invalid_argument with the field and its rule
inline void Require(bool good, const std::string& rule) {
  if (!good) throw std::invalid_argument(rule);
}

/// @param name that of the Options, for the text
template <class Options>
void CheckRetries(const Options& options, const std::string& name) {
  Require(options.max_attempts >= 1, name + "::max_attempts must be at least 1");
  Require(options.retry_min >= Duration(), name + "::retry_min must not be negative");
  Require(options.retry_max >= options.retry_min, name + "::retry_max must be at least retry_min");
  Require(options.retry_max <= std::chrono::days(365), name + "::retry_max must be at most a year");
}

/// Waits for kPause, or until `stop` fires.
inline void Pause(const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, kPause, [] { return false; });
}

}  // namespace doclock::detail
