#include "cli/commands/commands.h"
#include "cli/commands/documents/documents.h"
#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/store/whole_document.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

/// Returns the exit code.
int DeleteVersion(const LockingRepository<Body>& documents, const Key& key,
                  const DocumentOptions& options) {
  const auto found = documents.Find(key);
  if (!found) return TellMissing(options);
  if (found->version() != options.if_version) return TellOtherVersion(options, found->version());
  try {
    documents.Erase(*found);
    return kOk;
  } catch (const ConflictException& error) {
    return TellOtherVersion(options, error.found());
  }
}

int Delete(const Context& context, const DocumentOptions& options) {
  const Key key = ParseKey(options.key);
  const LockManager manager = context.manager();
  if (options.if_version >= 0) {
    return DeleteVersion({manager, options.collection}, key, options);
  }
  const bool readable = EraseWhole(manager, options.collection, key, options.lock);
  if (!readable) TellUnreadable(options, "was deleted");
  return kOk;
}

}  // namespace

Action AddDelete(CLI::App& sub) {
  const auto options = std::make_shared<DocumentOptions>();
  AddDocument(sub, *options);
  AddWaiting(sub, options->lock);
  AddIfVersion(sub, *options, "Delete the document only at this version, without taking its lock");
  sub.footer("Example: doclock delete --wait 10s order_sagas 42");
  return [options](const Context& context) { return Delete(context, *options); };
}

}  // namespace doclock::cli
