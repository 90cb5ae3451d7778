#include "cli/commands/documents/documents.h"

#include <iostream>

#include "cli/json/document_line.h"
#include "cli/json/json_text.h"
#include "cli/output/exit_codes.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {

int Get(const LockManager& manager, const DocumentOptions& options) {
  const LockingRepository<Body> documents(manager, options.collection);
  const auto found = documents.Find(ParseKey(options.key));
  if (!found) return TellMissing(options);
  const detail::ExactJson shown =
      options.full ? LineOf({found->key(), found->version(), found->locked(), **found})
                   : detail::BodyAccess::Exact(**found);
  std::cout << ExactText(shown, options.compact ? -1 : 2) << '\n';
  return kOk;
}

}  // namespace doclock::cli
