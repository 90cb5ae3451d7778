#include "cli/output/messages.h"

#include <algorithm>
#include <iostream>

#include "document/values/utf8.h"

namespace doclock::cli {
namespace {

constexpr std::string_view kProgram = "doclock: ";
/// The longest message, in bytes: a word that it quotes may be of any length.
constexpr std::size_t kLongestMessage = 1000;

std::string WithoutProgram(std::string_view text) {
  std::string plain(text);
  if (plain.starts_with(kProgram)) plain.erase(0, kProgram.size());
  const std::string nested = ": " + std::string(kProgram);
  for (auto at = plain.find(nested); at != plain.npos; at = plain.find(nested)) {
    plain.erase(at + 2, kProgram.size());
  }
  return plain;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable;
  detail::AppendEscaped(printable, text);
  return printable;
}

std::string Quoted(std::string_view word) {
  constexpr std::size_t kLongest = 40;
  const bool secret = word.find("://") != word.npos || word.find('@') != word.npos;
  return "'" + std::string(secret ? "..." : word.substr(0, kLongest)) + "'";
}

std::string ShellWord(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::size_t WidthOf(std::string_view printable) noexcept {
  return static_cast<std::size_t>(std::count_if(
      printable.begin(), printable.end(), [](unsigned char c) { return (c & 0xc0) != 0x80; }));
}

void Tell(std::string_view text) {
  std::string line = Printable(WithoutProgram(text).substr(0, kLongestMessage));
  if (text.size() > kLongestMessage) line += "...";
  std::cerr << kProgram << line << '\n';
}

void Tell(const Error& error) {
  std::string_view text = error.what();
  const std::string name = ": " + error.code().message();
  const bool again = error.errc() == Errc::kNotFound || error.errc() == Errc::kBusy;
  if (again && text.ends_with(name)) text.remove_suffix(name.size());
  Tell(text);
}

}  // namespace doclock::cli
