#include <iostream>

#include "cli/commands/commands.h"
#include "cli/json/json_text.h"
#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"

namespace doclock::cli {
namespace {

int Purge(const Context& context, const PurgeOptions& options) {
  PurgeResult result;
  try {
    result = context.admin().Purge(options);
  } catch (const NotFoundException& missing) {
    Tell(missing);  // and so there is nothing to clear
  }
  if (context.json) {
    PrintJson({{"expired", result.expired}, {"forgotten", result.forgotten}});
  } else {
    std::cout << result.expired << " expired locks cleared, " << result.forgotten
              << " names forgotten\n";
  }
  return kOk;
}

}  // namespace

Action AddPurge(CLI::App& sub) {
  const auto options = std::make_shared<PurgeOptions>();
  CLI::Option* const forget = sub.add_flag(
      "--forget", options->forget,
      "Also delete names that were not held for --idle-for; their fences begin at 1 again");
  CLI::Option* const idle = AddDuration(sub, "--idle-for", options->idle_for,
                                        "With --forget: how long a name must not have been held",
                                        {std::chrono::milliseconds(1), kForever});
  forget->needs(idle);
  idle->needs(forget);
  sub.footer("Example: doclock purge --forget --idle-for 30d");
  return [options](const Context& context) { return Purge(context, *options); };
}

}  // namespace doclock::cli
