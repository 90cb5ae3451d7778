#include "postgresql/client/quoted.h"

namespace doclock::postgresql {
namespace {

std::string Quoted(std::string_view text, char quote) {
  std::string quoted(1, quote);
  for (const char c : text) quoted.append(c == quote ? 2 : 1, c);
  return quoted + quote;
}

}  // namespace

std::string QuotedText(std::string_view text) {
  std::string quoted = Quoted(text, '\'');
  if (quoted.find('\\') == quoted.npos) return quoted;
  // A setting decides what a backslash means elsewhere.
  for (std::size_t at = 0; (at = quoted.find('\\', at)) != quoted.npos; at += 2) {
    quoted.insert(at, 1, '\\');
  }
  return " E" + quoted;
}

std::string QuotedName(std::string_view name) { return Quoted(name, '"'); }

}  // namespace doclock::postgresql
