#include "cli/commands/documents/documents.h"

#include <iostream>

#include "cli/json/document_line.h"
#include "cli/output/exit_codes.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {

using nlohmann::json;

int Get(const LockManager& manager, const DocumentOptions& options) {
  const LockingRepository<json> documents(manager, options.collection);
  const auto found = documents.Find(ParseKey(options.key));
  if (!found) return TellMissing(options);
  const json shown =
      options.full ? LineOf({found->key(), found->version(), found->locked(), **found}) : **found;
  // This library does not write text that is not UTF-8; another program did.
  std::cout << shown.dump(options.compact ? -1 : 2, ' ', false, json::error_handler_t::replace)
            << '\n';
  return kOk;
}

}  // namespace doclock::cli
