#include <utility>

#include "cli/commands/commands.h"
#include "cli/commands/documents/documents.h"
#include "cli/json/input.h"
#include "cli/json/json_text.h"
#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "cli/store/whole_document.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

using Documents = LockingRepository<Body>;

struct PutOptions : DocumentOptions {
  std::string file = "-";  ///< Where the JSON is; "-": standard input.
  bool create = false;     ///< The document must not exist.
};

/// Returns the exit code.
int CreateOnly(const Documents& documents, const Key& key, const PutOptions& options,
               const Body& body) {
  try {
    documents.Insert(key, body);
    return kOk;
  } catch (const ConflictException& error) {
    if (!error.index().empty()) throw;
    Tell("the document '" + options.key.text + "' in the collection '" + options.collection +
         "' exists already");
    return kOtherVersion;
  }
}

/// Returns the exit code.
int ReplaceVersion(const Documents& documents, const Key& key, const PutOptions& options,
                   Body body) {
  auto found = documents.Find(key);
  if (!found) return TellMissing(options);
  if (found->version() != options.if_version) return TellOtherVersion(options, found->version());
  **found = std::move(body);
  try {
    documents.Save(*found);
    return kOk;
  } catch (const ConflictException& error) {
    if (!error.index().empty()) throw;
    return TellOtherVersion(options, error.found());
  }
}

int Put(const Context& context, const PutOptions& options) {
  const Key key = ParseKey(options.key);
  Body body = StorableBody(ParseJson(Input(options.file).Rest()));
  const LockManager manager = context.manager();
  const Documents documents(manager, options.collection);
  if (options.create) return CreateOnly(documents, key, options, body);
  if (options.if_version >= 0) {
    return ReplaceVersion(documents, key, options, std::move(body));
  }
  const bool readable = ReplaceWhole(manager, options.collection, key, body, options.lock);
  if (!readable) TellUnreadable(options, "was replaced");
  return kOk;
}

}  // namespace

Action AddPut(CLI::App& sub) {
  const auto options = std::make_shared<PutOptions>();
  AddDocument(sub, *options);
  AddWaiting(sub, options->lock);
  AddAnything(sub, "FILE", options->file, "File with the JSON; - is standard input", "")
      ->capture_default_str();
  CLI::Option* const version = AddIfVersion(
      sub, *options, "Replace the document only at this version, without taking its lock");
  sub.add_flag("--create", options->create, "Only create the document: it must not exist")
      ->excludes(version)
      ->excludes(sub.get_option("--wait"))
      ->excludes(sub.get_option("--ttl"));
  sub.footer("Example: doclock put --if-version 3 order_sagas 42 new.json");
  return [options](const Context& context) { return Put(context, *options); };
}

}  // namespace doclock::cli
