#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/json/json_text.h"
#include "cli/json/lock_fields_text.h"
#include "cli/json/lock_json.h"
#include "cli/options/keys.h"
#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

/// `renew` and `release`.
struct GroupOptions {
  KeyText key;            ///< Its text is the group; with a lock file it is the key of one lock.
  std::string lock_file;  ///< Where the lock's id is; empty: a group.
  bool renews = false;    ///< Else it releases.
  Duration ttl;
};

void PrintDone(const GroupOptions& options, const std::vector<LockStatus>& locks,
               const json& failed, bool as_json) {
  const char* const verb = options.renews ? "renewed" : "released";
  if (as_json) return PrintJson({{verb, JsonOf(locks)}, {"failed", failed}});
  for (const LockStatus& lock : locks) std::cout << verb << ' ' << Printable(lock.name) << '\n';
}

std::vector<LockStatus> DoOne(const LockAdmin& admin, const GroupOptions& options, const Key& key,
                              const LockFields& lock) {
  return {options.renews ? admin.Renew(key, lock, options.ttl) : admin.Release(key, lock)};
}

std::vector<LockStatus> DoAll(const LockAdmin& admin, const GroupOptions& options) {
  const std::string& group = options.key.text;
  return options.renews ? admin.RenewGroup(group, options.ttl) : admin.ReleaseGroup(group);
}

int RenewOrRelease(const Context& context, const GroupOptions& options) {
  const bool is_group = options.lock_file.empty();
  const std::string fault = is_group ? TextFault(options.key.text, kMaxOwnerBytes) : "";
  if (!fault.empty()) throw std::invalid_argument("GROUP " + fault);
  const Key key = is_group ? Key() : ParseKey(options.key);
  const LockFields lock = is_group ? LockFields() : ReadLockFields(options.lock_file);
  const LockAdmin admin = context.admin();
  try {
    const auto done = is_group ? DoAll(admin, options) : DoOne(admin, options, key, lock);
    if (done.empty()) {
      Tell("the group '" + options.key.text + "' has no live lock in the collection '" +
           context.collection + "'");
      return kNotFound;
    }
    PrintDone(options, done, json::array(), context.json);
    return kOk;
  } catch (const GroupException& error) {
    json failed = json::array();
    for (const auto& each : error.failed()) {
      failed.push_back(
          {{"lock", JsonOf(each.lock)}, {"error", make_error_code(each.code).message()}});
    }
    PrintDone(options, error.done(), failed, context.json);
    Tell(error.what());
    return kUnavailable;
  }
}

std::shared_ptr<GroupOptions> AddGroup(CLI::App& sub, bool renews) {
  auto options = std::make_shared<GroupOptions>();
  options->renews = renews;
  sub.add_option("GROUP", options->key.text,
                 "The group; with --lock-file the name or key of one lock")
      ->required()
      ->type_name("");
  CLI::Option* const file = AddAnything(
      sub, "--lock-file", options->lock_file,
      "File with the id of the one lock, as a UUID or LockFields in JSON; - is standard input",
      "FILE");
  AddKeyType(sub, options->key.type)->needs(file);
  return options;
}

}  // namespace

Action AddRenew(CLI::App& sub) {
  const auto options = AddGroup(sub, true);
  AddTtl(sub, options->ttl, "New length of the leases (default: unchanged)");
  sub.footer("Example: doclock renew --ttl 10m deployment-17");
  return [options](const Context& context) { return RenewOrRelease(context, *options); };
}

Action AddRelease(CLI::App& sub) {
  const auto options = AddGroup(sub, false);
  sub.footer("Example: doclock release deployment-17");
  return [options](const Context& context) { return RenewOrRelease(context, *options); };
}

}  // namespace doclock::cli
