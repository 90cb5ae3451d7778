#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace doclock::cli {

/// A line on the terminal that counts documents, if standard error is one. Not thread-safe.
class Progress {
 public:
  /// @param verb as "exported"
  explicit Progress(std::string verb);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Clears the line.
  ~Progress();

  /// Shows this count, a few times per second at most.
  void Show(std::int64_t count);

 private:
  const std::string verb_;
  const bool visible_;
  bool shown_ = false;
  const std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point next_;
};

/// Notes SIGINT, SIGTERM and SIGHUP instead of ending, so that a document is not left half-written.
/// A second one ends the program. One object at a time.
class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// The signal that came; 0: none. Any thread may ask.
  [[nodiscard]] static int signal() noexcept;
};

}  // namespace doclock::cli
