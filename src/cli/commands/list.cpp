#include "cli/commands/commands.h"

#include <iostream>

#include "cli/json/json_text.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "cli/store/search.h"

namespace doclock::cli {
namespace {

struct ListOptions : SearchOptions {
  bool keys = false;  ///< Keys alone.
};

/// The width of each column but the last, if its contents fit.
constexpr std::size_t kKeyWidth = 36, kVersionWidth = 7, kLockWidth = 6;

std::string Padded(std::string text, std::size_t width) {
  const std::size_t is = WidthOf(text);
  text.append(is < width ? width - is + 2 : 2, ' ');
  return text;
}

std::string RowOf(const DocumentLine& document) {
  return Padded(Printable(TextOf(document.key).text), kKeyWidth) +
         Padded(std::to_string(document.version), kVersionWidth) +
         Padded(document.locked ? "locked" : "-", kLockWidth) +
         Printable(ExactText(detail::BodyAccess::Exact(document.body)));
}

void PrintKey(const Key& of, bool as_json) {
  const KeyText key = TextOf(of);
  std::cout << (as_json ? JsonText({{"key", key.text}, {"keyType", key.type}})
                        : Printable(key.text))
            << '\n';
}

int List(const Context& context, const ListOptions& options) {
  static_cast<void>(FilterOf(options));  // throws for bad conditions
  const LockManager manager = context.manager();
  if (!context.json && !options.keys) {
    std::cout << Padded("KEY", kKeyWidth) << Padded("VERSION", kVersionWidth)
              << Padded("LOCK", kLockWidth) << "BODY\n";
  }
  const auto print = [&](const DocumentLine& document) {
    if (options.keys) {
      PrintKey(document.key, context.json);
    } else {
      std::cout << (context.json ? ExactText(LineOf(document)) : RowOf(document)) << '\n';
    }
    return static_cast<bool>(std::cout);
  };
  int code = kOk;
  // Its key can be read, and the user needs it to mend or delete the document.
  const auto go_on = [&](const DocumentException& error) {
    code = kBadData;
    Tell(error);
    if (options.keys) PrintKey(error.document()->key, context.json);
    return static_cast<bool>(std::cout);
  };
  ForEachDocument(manager, options, print, go_on);
  return code;
}

}  // namespace

Action AddList(CLI::App& sub) {
  const auto options = std::make_shared<ListOptions>();
  AddSearch(sub, *options);
  sub.add_flag("--keys", options->keys, "Print only the keys");
  sub.footer("Example: doclock list --where step=queued --order-by due --limit 10 order_sagas");
  return [options](const Context& context) { return List(context, *options); };
}

}  // namespace doclock::cli
