#include "cli/commands/documents/documents.h"
#include "cli/output/exit_codes.h"
#include "cli/store/whole_document.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

using Documents = LockingRepository<Body>;

/// Returns the exit code.
int DeleteVersion(const Documents& documents, const DocumentOptions& options) {
  const auto found = documents.Find(ParseKey(options.key));
  if (!found) return TellMissing(options);
  if (found->version() != options.if_version) return TellOtherVersion(options, found->version());
  try {
    documents.Erase(*found);
    return kOk;
  } catch (const ConflictException& error) {
    return TellOtherVersion(options, error.found());
  }
}

}  // namespace

int Delete(const LockManager& manager, const DocumentOptions& options) {
  if (options.has_version) return DeleteVersion({manager, options.collection}, options);
  const LockOptions lock{.ttl = options.ttl, .wait = options.wait};
  const bool readable = EraseWhole(manager, options.collection, ParseKey(options.key), lock);
  if (!readable) TellUnreadable(options, "was deleted");
  return kOk;
}

}  // namespace doclock::cli
