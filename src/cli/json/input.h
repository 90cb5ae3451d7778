#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace doclock::cli {

/// A text that is read from a file, or from standard input ("-"). A byte order mark at its start is
/// left out. Not thread-safe.
class Input {
 public:
  /// Waits for the first byte.
  /// @param option what names the file on the command line, for messages
  /// @throws std::invalid_argument if it cannot be read
  explicit Input(const std::string& file, const char* option = "FILE");

  /// Reads a line, without its end. Returns whether there was one.
  /// @throws std::invalid_argument if it cannot be read; BadData if it is longer than the text of
  /// any document
  bool Line(std::string& line) { return Read(line, '\n'); }
  /// Reads all that is left. Throws as Line() does.
  std::string Rest();

 private:
  /// Reads up to this character, which is left out, or all that is left. Returns whether there was
  /// anything.
  bool Read(std::string& text, int end);
  [[noreturn]] void ThrowUnreadable() const;

  const std::string name_;  ///< For messages.
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  bool started_ = false;
};

/// Has it nothing but blanks and line ends?
bool IsBlank(const std::string& text) noexcept;

}  // namespace doclock::cli
