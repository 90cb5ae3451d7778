#include <optional>
#include <string>
#include <utility>

#include "cli/commands/documents/documents.h"
#include "cli/json/input.h"
#include "cli/json/json_text.h"
#include "cli/output/exit_codes.h"
#include "cli/store/whole_document.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

using Documents = LockingRepository<Body>;

void Replace(const LockManager& manager, const DocumentOptions& options, const Body& body) {
  const LockOptions lock{.ttl = options.ttl, .wait = options.wait};
  if (ReplaceWhole(manager, options.collection, ParseKey(options.key), body, lock)) return;
  TellUnreadable(options, "was replaced");
}

/// Returns the exit code.
int Create(const Documents& documents, const DocumentOptions& options, const Body& body) {
  try {
    documents.Insert(ParseKey(options.key), body);
    return kOk;
  } catch (const ConflictException& error) {
    if (!error.index().empty()) throw;
    Tell("the document '" + options.key.text + "' in the collection '" + options.collection +
         "' exists already");
    return kOtherVersion;
  }
}

/// Returns the exit code.
int ReplaceVersion(const Documents& documents, const DocumentOptions& options, Body body) {
  auto found = documents.Find(ParseKey(options.key));
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

}  // namespace

int TellMissing(const DocumentOptions& options) {
  Tell("there is no document '" + options.key.text + "' in the collection '" + options.collection +
       "'");
  return kNotFound;
}

int TellOtherVersion(const DocumentOptions& options, std::optional<std::int64_t> found) {
  const std::string wanted = std::to_string(options.if_version);
  Tell("the document '" + options.key.text + "' in the collection '" + options.collection +
       "' is " + (found ? "at version " + std::to_string(*found) + ", not " : "not at version ") +
       wanted);
  return kOtherVersion;
}

void TellUnreadable(const DocumentOptions& options, const std::string& what_happened) {
  Tell("the document '" + options.key.text + "' in the collection '" + options.collection + "' " +
       what_happened + "; its old body could not be read");
}

int Put(const std::function<std::shared_ptr<Store>()>& open, const DocumentOptions& options) {
  Body body = StorableBody(ParseJson(Input(options.file).Rest()));
  const LockManager manager(open());
  const Documents documents(manager, options.collection);
  if (options.create) return Create(documents, options, body);
  if (options.has_version) return ReplaceVersion(documents, options, std::move(body));
  Replace(manager, options, body);
  return kOk;
}

}  // namespace doclock::cli
