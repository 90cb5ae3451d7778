#include "cli/json/input.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "cli/json/json_text.h"
#include "cli/output/messages.h"
#include "doclock/document.h"

namespace doclock::cli {
namespace {

/// A text has six bytes at most (\u0001) for one of the body. Key, names and blanks come on top.
constexpr std::size_t kLongest = 6 * kMaxBodyBytes + 64 * 1024;

int Leave(std::FILE* /*file*/) { return 0; }

}  // namespace

Input::Input(const std::string& file, const char* option)
    : name_(std::string(option) + ": " + (file == "-" ? "standard input" : Quoted(file))),
      file_(file == "-" ? stdin : std::fopen(file.c_str(), "re"),
            file == "-" ? Leave : std::fclose) {
  // A folder is opened, too, and fails only when it is read.
  if (!file_ ||
      (std::ungetc(std::getc(file_.get()), file_.get()) == EOF && std::ferror(file_.get()) != 0)) {
    ThrowUnreadable();
  }
}

void Input::ThrowUnreadable() const {
  throw std::invalid_argument(name_ + " cannot be read: " + std::strerror(errno));
}

bool Input::Read(std::string& text, int end) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // of editors of Windows
  text.clear();
  int c = 0;
  while ((c = std::getc(file_.get())) != EOF && c != end) {
    text += static_cast<char>(c);
    if (text.size() <= kLongest) continue;
    throw BadData("the text is longer than " + std::to_string(kLongest) +
                  " bytes, and a document has at most " + std::to_string(kMaxBodyBytes));
  }
  if (std::ferror(file_.get()) != 0) ThrowUnreadable();
  const bool found = c == end || !text.empty();
  if (!std::exchange(started_, true) && text.starts_with(kByteOrderMark)) {
    text.erase(0, kByteOrderMark.size());
  }
  return found;
}

std::string Input::Rest() {
  std::string text;
  Read(text, EOF);
  return text;
}

bool IsBlank(const std::string& text) noexcept {
  return text.find_first_not_of(" \t\r\n") == text.npos;
}

}  // namespace doclock::cli
