#include <iostream>

#include "cli/commands/commands.h"
#include "cli/json/json_text.h"
#include "cli/json/lock_json.h"
#include "cli/options/keys.h"
#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"

namespace doclock::cli {
namespace {

struct BreakOptions {
  KeyText key;
  std::string by;
};

int Break(const Context& context, const BreakOptions& options) {
  const Key key = ParseKey(options.key);
  const LockStatus was = context.admin().Break(key, options.by);
  if (context.json) {
    PrintJson({{"broken", JsonOf(was)}});
  } else {
    std::cout << "broken " << Printable(was.name) << ", held by "
              << Printable(was.holder.ToString()) << '\n';
  }
  return kOk;
}

}  // namespace

Action AddBreak(CLI::App& sub) {
  const auto options = std::make_shared<BreakOptions>();
  sub.add_option("NAME", options->key.text, "Name of the lock, or key of a document")
      ->required()
      ->type_name("");
  AddKeyType(sub, options->key.type);
  AddText(sub, "--by", options->by,
          "Name of the person or program that breaks the lock, for display only", kMaxOwnerBytes);
  sub.footer("Example: doclock break --by \"$(id -un)\" nightly-backup");
  return [options](const Context& context) { return Break(context, *options); };
}

}  // namespace doclock::cli
