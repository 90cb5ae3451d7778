#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/output/progress.h"

namespace doclock::cli {

/// The whole terminal, until the object goes: then it shows again what it showed before. SIGINT,
/// SIGTERM and SIGHUP are noted meanwhile. One object at a time. Not thread-safe.
class Screen {
 public:
  // What Key() returns besides characters.
  enum Special : int {
    kNone = -1,
    kUp = -2,
    kDown = -3,
    kEnter = -4,
    kBackspace = -5,
    kEscape = -6
  };

  /// @throws std::invalid_argument if the terminal cannot do this, or this build has no ncurses
  Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();

  [[nodiscard]] std::size_t rows() const noexcept;
  [[nodiscard]] std::size_t columns() const noexcept;
  /// Shows these lines, as many as there is room for. The third one is a heading.
  void Show(const std::vector<std::string>& lines);
  /// Waits for a key, a tenth of a second at most.
  [[nodiscard]] int Key();
  /// The signal that came; 0: none.
  [[nodiscard]] static int signal() noexcept { return Interruption::signal(); }

 private:
  const Interruption interruption_;
};

}  // namespace doclock::cli
