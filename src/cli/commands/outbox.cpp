#include "cli/commands/outbox.h"

#include <iostream>

#include "cli/json/json_text.h"
#include "cli/json/lock_json.h"
#include "cli/options/durations.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "doclock/outbox.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

void Print(const OutboxStatus& status, const std::vector<OutboxMessage>& parked) {
  std::cout << "pending " << status.pending << ", parked " << status.parked;
  if (status.pending + status.parked > 0) std::cout << ", oldest " << DurationText(status.oldest);
  std::cout << '\n';
  for (const OutboxMessage& message : parked) {
    std::cout << "parked " << Printable(TextOf(message.id).text) << ", attempts "
              << message.attempts << ": " << Printable(message.error) << '\n';
  }
}

json JsonOf(const OutboxStatus& status, const std::vector<OutboxMessage>& parked) {
  json messages = json::array();
  for (const OutboxMessage& message : parked) {
    const KeyText key = TextOf(message.id);
    messages.push_back({{"key", key.text},
                        {"keyType", key.type},
                        {"order", message.order},
                        {"attempts", message.attempts},
                        {"error", message.error}});
  }
  return {{"pending", status.pending},
          {"parked", status.parked},
          {"oldestMs", status.oldest.count()},
          {"messages", messages}};
}

void PrintCount(const char* verb, std::int64_t count, bool as_json) {
  as_json ? PrintJson({{verb, count}}) : void(std::cout << verb << ' ' << count << '\n');
}

}  // namespace

int ShowOutbox(const LockManager& manager, const OutboxOptions& options) {
  const Outbox outbox(manager, options.collection);
  if (options.drop) {
    outbox.Drop(ParseKey(options.key));
    PrintCount("dropped", 1, options.json);
  } else if (options.retry) {
    const std::int64_t retried =
        options.has_key ? std::int64_t{outbox.Retry(ParseKey(options.key))} : outbox.RetryParked();
    PrintCount("retried", retried, options.json);
    if (options.has_key && retried == 0) {
      Tell("no message '" + options.key.text + "' (--key-type " + options.key.type +
           ") is parked in the outbox '" + options.collection + "'");
      return kNotFound;
    }
  } else {
    const OutboxStatus status = outbox.Status();
    const auto parked = outbox.Parked();
    options.json ? PrintJson(JsonOf(status, parked)) : Print(status, parked);
  }
  return kOk;
}

}  // namespace doclock::cli
