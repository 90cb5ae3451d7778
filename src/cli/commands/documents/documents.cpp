#include "cli/commands/documents/documents.h"

#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"

namespace doclock::cli {
namespace {

std::string Named(const DocumentOptions& options) {
  return "document '" + options.key.text + "' in the collection '" + options.collection + "'";
}

}  // namespace

void AddDocument(CLI::App& sub, DocumentOptions& document) {
  AddCollectionArgument(sub, document.collection, "Collection of the document");
  sub.add_option("KEY", document.key.text, "Key of the document")->required()->type_name("");
  AddKeyType(sub, document.key.type);
}

CLI::Option* AddIfVersion(CLI::App& sub, DocumentOptions& document, const std::string& help) {
  return AddNumber(sub, "--if-version", document.if_version, help, 0, kHighest)
      ->excludes(sub.get_option("--wait"))
      ->excludes(sub.get_option("--ttl"));
}

int TellMissing(const DocumentOptions& options) {
  Tell("there is no " + Named(options));
  return kNotFound;
}

int TellOtherVersion(const DocumentOptions& options, std::optional<std::int64_t> found) {
  Tell("the " + Named(options) + " is " +
       (found ? "at version " + std::to_string(*found) + ", not " : "not at version ") +
       std::to_string(options.if_version));
  return kOtherVersion;
}

void TellUnreadable(const DocumentOptions& options, const std::string& what_happened) {
  Tell("the " + Named(options) + " " + what_happened + "; its old body could not be read");
}

}  // namespace doclock::cli
