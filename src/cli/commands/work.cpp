#include <iostream>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/json/json_text.h"
#include "cli/json/lock_json.h"
#include "cli/options/keys.h"
#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "doclock/worker.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

struct WorkArguments {
  std::string collection;
  std::string attempts = "attempts";  ///< The member with the attempts; deeper ones by dots.
  std::optional<std::string> key;     ///< The document to retry or drop.
  std::string key_type = KeyText{}.type;
  bool retry = false;  ///< One parked document, or without a key all.
  bool drop = false;
};

/// A worker that makes no steps.
std::shared_ptr<detail::Work> Open(const LockManager& manager, const WorkArguments& arguments) {
  detail::WorkSpec spec{.manager = manager,
                        .binding = detail::BindDocuments(manager, arguments.collection, {}, {}),
                        .options = {.threads = 0}};
  std::string_view rest = arguments.attempts;
  for (std::size_t dot; (dot = rest.find('.')) != rest.npos; rest.remove_prefix(dot + 1)) {
    spec.path.emplace_back(rest.substr(0, dot));
  }
  spec.path.emplace_back(rest);
  return std::make_shared<detail::Work>(std::move(spec));
}

void Print(const WorkStatus& status, const std::vector<ParkedWork>& parked) {
  std::cout << "due " << status.due << ", waiting " << status.waiting << ", locked "
            << status.locked << ", parked " << status.parked << ", done " << status.done << '\n';
  for (const ParkedWork& one : parked) {
    std::cout << "parked " << Printable(TextOf(one.key).text) << ", failures "
              << one.attempts.failures << ", interruptions " << one.attempts.interruptions << ": "
              << Printable(one.attempts.error) << '\n';
  }
}

json JsonOf(const WorkStatus& status, const std::vector<ParkedWork>& parked) {
  json documents = json::array();
  for (const ParkedWork& one : parked) {
    const KeyText key = TextOf(one.key);
    documents.push_back({{"key", key.text},
                         {"keyType", key.type},
                         {"failures", one.attempts.failures},
                         {"interruptions", one.attempts.interruptions},
                         {"error", one.attempts.error}});
  }
  return {{"due", status.due},       {"waiting", status.waiting}, {"locked", status.locked},
          {"parked", status.parked}, {"done", status.done},       {"documents", documents}};
}

std::int64_t RetryAll(const detail::Work& work) {
  std::int64_t retried = 0;
  for (const ParkedWork& one : work.Parked()) {
    try {
      // A document without attempts may be no work at all: its key has to be given.
      if (one.attempts.parked && work.Retry(one.key)) ++retried;
    } catch (const NotFoundException&) {
      // It was dropped meanwhile.
    }
  }
  return retried;
}

int ShowWork(const Context& context, const WorkArguments& arguments) {
  if (arguments.key && !arguments.retry && !arguments.drop) {
    throw std::invalid_argument("work: KEY needs --retry or --drop");
  }
  const Key key = arguments.key ? ParseKey({*arguments.key, arguments.key_type}) : Key();
  const auto work = Open(context.manager(), arguments);
  if (!arguments.drop && !arguments.retry) {
    const WorkStatus status = work->Status();
    const auto parked = work->Parked();
    context.json ? PrintJson(JsonOf(status, parked)) : Print(status, parked);
    return kOk;
  }
  const std::int64_t count = !arguments.key   ? RetryAll(*work)
                             : arguments.drop ? work->Drop(key)
                                              : work->Retry(key);
  const char* const verb = arguments.drop ? "dropped" : "retried";
  context.json ? PrintJson({{verb, count}}) : void(std::cout << verb << ' ' << count << '\n');
  if (!arguments.key || count > 0) return kOk;
  Tell("document '" + *arguments.key + "' (--key-type " + arguments.key_type + ") of '" +
       arguments.collection + "' is not parked");
  return kNotFound;
}

}  // namespace

Action AddWork(CLI::App& sub) {
  const auto arguments = std::make_shared<WorkArguments>();
  AddCollectionArgument(sub, arguments->collection, "Collection of the documents");
  CLI::Option* const key =
      sub.add_option("KEY", arguments->key, "Key of the document to retry or drop")->type_name("");
  AddKeyType(sub, arguments->key_type)->needs(key);
  sub.add_option("--attempts", arguments->attempts,
                 "Member with the attempts, with dots for a deeper one")
      ->capture_default_str()
      ->type_name("MEMBER");
  CLI::Option* const retry =
      sub.add_flag("--retry", arguments->retry,
                   "Make the parked document due now; without KEY all parked by workers");
  sub.add_flag("--drop", arguments->drop, "Delete the parked document")
      ->needs(key)
      ->excludes(retry);
  sub.footer(
      "Example: doclock work orders\n"
      "Example: doclock work --retry orders\n"
      "Example: doclock work --drop orders 42");
  return [arguments](const Context& context) { return ShowWork(context, *arguments); };
}

}  // namespace doclock::cli
