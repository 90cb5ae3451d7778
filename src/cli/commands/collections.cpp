#include <algorithm>
#include <chrono>
#include <iostream>

#include "cli/commands/list.h"
#include "cli/json/lock_json.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"

namespace doclock::cli {
namespace {

constexpr std::chrono::seconds kListTime{10};

}  // namespace

int Collections(const LockManager& manager, bool as_json) {
  std::vector<std::string> names = manager.store()->ListCollections(kListTime);
  std::sort(names.begin(), names.end());
  if (as_json) {
    PrintJson(names);
    return kOk;
  }
  for (const std::string& name : names) std::cout << Printable(name) << '\n';
  return kOk;
}

}  // namespace doclock::cli
