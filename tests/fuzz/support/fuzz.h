#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

/// The entry point of a fuzz target. It returns 0, and aborts if a property does not hold.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace doclock::fuzz {

/// No input is longer than this many bytes: longer ones show nothing that shorter ones do not.
inline constexpr std::size_t kLongestInput = 16 * 1024;

/// Ends the program, which libFuzzer reports together with the input.
inline void Require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: this does not hold: %s\n", property);
  std::abort();
}
inline void Require(bool holds, const std::string& property) { Require(holds, property.c_str()); }

/// The input as text.
inline std::string_view TextOf(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// The lines of a text, at most `limit` of them, without their ends.
inline std::vector<std::string> LinesOf(std::string_view text, std::size_t limit) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < limit) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Takes the words of a line off its front, separated by one space each.
inline std::string TakeWord(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  std::string word(line.substr(0, end));
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

/// Takes values off the front of the input; zeros once it is used up.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  [[nodiscard]] bool empty() const noexcept { return at_ == end_; }
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - at_); }

  template <class T>
  T Take() noexcept {
    T value{};
    const std::size_t count = std::min(sizeof value, size());
    std::memcpy(&value, at_, count);
    at_ += count;
    return value;
  }
  [[nodiscard]] std::string_view Take(std::size_t count) noexcept {
    const std::string_view bytes = TextOf(at_, std::min(count, size()));
    at_ += bytes.size();
    return bytes;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

}  // namespace doclock::fuzz
