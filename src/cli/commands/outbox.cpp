#include <iostream>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/json/json_text.h"
#include "cli/options/durations.h"
#include "cli/options/keys.h"
#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "doclock/messages.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

struct OutboxOptions {
  std::string collection;
  std::optional<std::string> key;  ///< The message to retry or drop.
  std::string key_type = KeyText{}.type;
  bool retry = false;  ///< One parked message, or without a key all.
  bool drop = false;
};

void PrintOutbox(const OutboxStatus& status, const std::vector<OutboxMessage>& parked) {
  std::cout << "pending " << status.pending << ", parked " << status.parked;
  if (status.pending + status.parked > 0) std::cout << ", oldest " << DurationText(status.oldest);
  std::cout << '\n';
  for (const OutboxMessage& message : parked) {
    std::cout << "parked " << Printable(TextOf(message.id).text) << ", attempts "
              << message.attempts << ": " << Printable(message.error) << '\n';
  }
}

json JsonOfOutbox(const OutboxStatus& status, const std::vector<OutboxMessage>& parked) {
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

int ShowOutbox(const Context& context, const OutboxOptions& options) {
  if (options.key && !options.retry && !options.drop) {
    throw std::invalid_argument("outbox: KEY needs --retry or --drop");
  }
  const Key key = options.key ? ParseKey({*options.key, options.key_type}) : Key();
  const Outbox outbox(context.manager(), options.collection);
  if (options.drop) {
    outbox.Drop(key);
    PrintCount("dropped", 1, context.json);
  } else if (options.retry) {
    const std::int64_t retried =
        options.key ? std::int64_t{outbox.Retry(key)} : outbox.RetryParked();
    PrintCount("retried", retried, context.json);
    if (options.key && retried == 0) {
      Tell("no message '" + *options.key + "' (--key-type " + options.key_type +
           ") is parked in the outbox '" + options.collection + "'");
      return kNotFound;
    }
  } else {
    const OutboxStatus status = outbox.Status();
    const auto parked = outbox.Parked();
    context.json ? PrintJson(JsonOfOutbox(status, parked)) : PrintOutbox(status, parked);
  }
  return kOk;
}

}  // namespace

Action AddOutbox(CLI::App& sub) {
  const auto options = std::make_shared<OutboxOptions>();
  AddCollectionArgument(sub, options->collection, "Collection of the outbox");
  CLI::Option* const key =
      sub.add_option("KEY", options->key, "Key of the message to retry or drop")->type_name("");
  AddKeyType(sub, options->key_type)->needs(key);
  CLI::Option* const retry = sub.add_flag(
      "--retry", options->retry, "Make the parked message due now; without KEY all parked ones");
  sub.add_flag("--drop", options->drop,
               "Delete the message unsent, and let those behind it in its order go")
      ->needs(key)
      ->excludes(retry);
  sub.footer(
      "Example: doclock outbox outbox\n"
      "Example: doclock outbox --retry outbox\n"
      "Example: doclock outbox --drop outbox pay-7:paid");
  return [options](const Context& context) { return ShowOutbox(context, *options); };
}

}  // namespace doclock::cli
