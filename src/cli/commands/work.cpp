#include "cli/commands/work.h"

#include <iostream>
#include <memory>
#include <string_view>
#include <utility>

#include "cli/json/json_text.h"
#include "cli/json/lock_json.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "doclock/worker.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

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
    std::cout << "parked " << Printable(TextOf(one.key).text) << ", failures " << one.attempts.count
              << ", interruptions " << one.attempts.interruptions << ": "
              << Printable(one.attempts.error) << '\n';
  }
}

json JsonOf(const WorkStatus& status, const std::vector<ParkedWork>& parked) {
  json documents = json::array();
  for (const ParkedWork& one : parked) {
    const KeyText key = TextOf(one.key);
    documents.push_back({{"key", key.text},
                         {"keyType", key.type},
                         {"count", one.attempts.count},
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
      if (work.Retry(one.key)) ++retried;
    } catch (const NotFoundException&) {
      // It was dropped meanwhile.
    }
  }
  return retried;
}

}  // namespace

int ShowWork(const LockManager& manager, const WorkArguments& arguments) {
  const auto work = Open(manager, arguments);
  if (!arguments.drop && !arguments.retry) {
    const WorkStatus status = work->Status();
    const auto parked = work->Parked();
    arguments.json ? PrintJson(JsonOf(status, parked)) : Print(status, parked);
    return kOk;
  }
  const std::int64_t count = !arguments.has_key ? RetryAll(*work)
                             : arguments.drop   ? work->Drop(ParseKey(arguments.key))
                                                : work->Retry(ParseKey(arguments.key));
  const char* const verb = arguments.drop ? "dropped" : "retried";
  arguments.json ? PrintJson({{verb, count}}) : void(std::cout << verb << ' ' << count << '\n');
  if (!arguments.has_key || count > 0) return kOk;
  Tell("document '" + arguments.key.text + "' (--key-type " + arguments.key.type + ") of '" +
       arguments.collection + "' is not parked");
  return kNotFound;
}

}  // namespace doclock::cli
