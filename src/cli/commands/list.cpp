#include "cli/commands/list.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "cli/json/json_text.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"

namespace doclock::cli {
namespace {

/// The width of each column but the last, if its contents fit.
constexpr std::size_t kKeyWidth = 36, kVersionWidth = 7, kLockWidth = 6;

/// The columns of the terminal that the output goes to; 0: it goes elsewhere.
std::size_t TerminalWidth() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::string Padded(std::string text, std::size_t width) {
  const std::size_t is = WidthOf(text);
  text.append(is < width ? width - is + 2 : 2, ' ');
  return text;
}

/// Cuts what is wider than the terminal.
std::string Cut(std::string line, std::size_t width) {
  if (width == 0 || WidthOf(line) <= width) return line;
  return std::string(FirstCharacters(line, std::max(width, std::size_t{3}) - 3)) + "...";
}

std::string RowOf(const DocumentLine& document, std::size_t width) {
  const std::string head = Padded(Printable(TextOf(document.key).text), kKeyWidth) +
                           Padded(std::to_string(document.version), kVersionWidth) +
                           Padded(document.locked ? "locked" : "-", kLockWidth);
  return Cut(head + Printable(ExactText(detail::BodyAccess::Exact(document.body))), width);
}

void PrintKey(const Key& of, bool as_json) {
  const KeyText key = TextOf(of);
  std::cout << (as_json ? JsonText({{"key", key.text}, {"keyType", key.type}})
                        : Printable(key.text))
            << '\n';
}

}  // namespace

int List(const LockManager& manager, const ListOptions& options) {
  const std::size_t width = TerminalWidth();
  const bool table = !options.json && !options.keys;
  if (table) {
    std::cout << Padded("KEY", kKeyWidth) << Padded("VERSION", kVersionWidth)
              << Padded("LOCK", kLockWidth) << "BODY\n";
  }
  const auto print = [&](const DocumentLine& document) {
    if (options.keys) {
      PrintKey(document.key, options.json);
    } else {
      std::cout << (options.json ? ExactText(LineOf(document)) : RowOf(document, width)) << '\n';
    }
    return static_cast<bool>(std::cout);
  };
  int code = kOk;
  // Its key can be read: whoever wants to mend or delete such documents needs all of them.
  const auto go_on = [&](const DocumentException& error) {
    code = kBadData;
    Tell(error);
    if (options.keys) PrintKey(error.document()->key, options.json);
    return static_cast<bool>(std::cout);
  };
  ForEachDocument(manager, options, print, go_on);
  return code;
}

}  // namespace doclock::cli
