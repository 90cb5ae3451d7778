#include <algorithm>
#include <chrono>
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/json/json_text.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"

namespace doclock::cli {
namespace {

int Collections(const Context& context) {
  std::vector<std::string> names =
      context.manager().store()->ListCollections(std::chrono::seconds(10));
  std::sort(names.begin(), names.end());
  if (context.json) {
    PrintJson(names);
    return kOk;
  }
  for (const std::string& name : names) std::cout << Printable(name) << '\n';
  return kOk;
}

}  // namespace

Action AddCollections(CLI::App& sub) {
  sub.footer("Example: doclock collections");
  return Collections;
}

}  // namespace doclock::cli
