#include <iostream>

#include "cli/commands/commands.h"
#include "cli/commands/documents/documents.h"
#include "cli/json/document_line.h"
#include "cli/json/json_text.h"
#include "cli/output/exit_codes.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

struct GetOptions : DocumentOptions {
  bool full = false;
};

int Get(const Context& context, const GetOptions& options) {
  const Key key = ParseKey(options.key);
  const auto found = LockingRepository<Body>(context.manager(), options.collection).Find(key);
  if (!found) return TellMissing(options);
  const detail::ExactJson shown =
      options.full ? LineOf({found->key(), found->version(), found->locked(), **found})
                   : detail::BodyAccess::Exact(**found);
  std::cout << ExactText(shown, context.json ? -1 : 2) << '\n';
  return kOk;
}

}  // namespace

Action AddGet(CLI::App& sub) {
  const auto options = std::make_shared<GetOptions>();
  AddDocument(sub, *options);
  sub.add_flag("--full", options->full, "Print key, version and lock too, as export writes them");
  sub.footer("Example: doclock get --key-type int order_sagas -- -7");
  return [options](const Context& context) { return Get(context, *options); };
}

}  // namespace doclock::cli
