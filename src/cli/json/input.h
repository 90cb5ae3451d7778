#pragma once

#include <string>

namespace doclock::cli {

/// A text that is read from a file, or from standard input ("-"). A byte order mark at its start is
/// left out. Not thread-safe.
class Input {
 public:
  /// @param option what names the file on the command line, for messages
  /// @throws std::invalid_argument if it cannot be opened, or is a folder
  explicit Input(const std::string& file, const char* option = "FILE");
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  /// Reads a line, without its end. False: there are no more.
  /// @throws std::invalid_argument if it cannot be read; BadJson if it is longer than the text of
  /// any document
  bool Line(std::string& line);
  /// Reads all that is left. Throws as Line() does.
  std::string Rest();

 private:
  /// Replaces the buffer by what comes next. False: the text is over.
  bool Fill();
  [[noreturn]] void ThrowUnreadable(int error) const;

  const std::string name_;  ///< For messages.
  int descriptor_;
  std::string buffer_;
  std::size_t at_ = 0;  ///< What is before it has been read.
  bool started_ = false;
};

/// Has it nothing but blanks and line ends?
bool IsBlank(const std::string& text) noexcept;

/// Removes the byte order mark that editors of Windows put before UTF-8.
void RemoveByteOrderMark(std::string& text);

}  // namespace doclock::cli
