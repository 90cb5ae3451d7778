#include "cli/json/input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "cli/json/json_text.h"
#include "cli/output/messages.h"
#include "doclock/body.h"

namespace doclock::cli {
namespace {

constexpr std::size_t kReadAtOnce = 64 * 1024;
/// A text has six bytes at most (\u0001) for one of the body. Key, names and blanks come on top.
constexpr std::size_t kLongest = 6 * kMaxBodyBytes + 64 * 1024;

void CheckLength(const std::string& text) {
  if (text.size() <= kLongest) return;
  throw BadJson("the text is longer than " + std::to_string(kLongest) +
                " bytes, and a document has at most " + std::to_string(kMaxBodyBytes));
}

}  // namespace

Input::Input(const std::string& file, const char* option)
    : name_(std::string(option) + ": " + (file == "-" ? "standard input" : Quoted(file))),
      descriptor_(file == "-" ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) ThrowUnreadable(errno);
  struct stat found {};
  if (::fstat(descriptor_, &found) != 0 || !S_ISDIR(found.st_mode)) return;
  if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
  ThrowUnreadable(EISDIR);
}

Input::~Input() {
  if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
}

void Input::ThrowUnreadable(int error) const {
  throw std::invalid_argument(name_ + " cannot be read: " + std::strerror(error));
}

bool Input::Fill() {
  buffer_.resize(kReadAtOnce);
  at_ = buffer_.size();  // if reading fails, nothing is left: another thread may ask again
  ssize_t got = 0;
  while ((got = ::read(descriptor_, buffer_.data(), buffer_.size())) < 0) {
    pollfd place{descriptor_, POLLIN, 0};
    if (errno == EAGAIN) ::poll(&place, 1, -1);  // another program made it non-blocking
    if (errno != EINTR && errno != EAGAIN) ThrowUnreadable(errno);
  }
  buffer_.resize(static_cast<std::size_t>(got));
  at_ = 0;
  return got > 0;
}

bool Input::Line(std::string& line) {
  line.clear();
  for (;;) {
    const std::size_t end = buffer_.find('\n', at_);
    line.append(buffer_, at_, end - at_);
    CheckLength(line);
    const bool whole = end != std::string::npos;
    at_ = whole ? end + 1 : buffer_.size();
    if (whole || !Fill()) {
      if (!std::exchange(started_, true)) RemoveByteOrderMark(line);
      return whole || !line.empty();
    }
  }
}

std::string Input::Rest() {
  std::string text = buffer_.substr(at_);
  while (Fill()) {
    text += buffer_;
    CheckLength(text);
  }
  if (!std::exchange(started_, true)) RemoveByteOrderMark(text);
  return text;
}

bool IsBlank(const std::string& text) noexcept {
  return text.find_first_not_of(" \t\r\n") == text.npos;
}

void RemoveByteOrderMark(std::string& text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
}

}  // namespace doclock::cli
