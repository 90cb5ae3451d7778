#include "cli/options/command_options.h"

#include <algorithm>
#include <limits>
#include <string>

#include "cli/options/options.h"
#include "cli/output/top_page.h"

namespace doclock::cli {
namespace {

constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
constexpr DurationRange kIntervals{std::chrono::milliseconds(100), std::chrono::hours(24)};

/// Options that every subcommand takes, before or after its name.
void AddCommon(CLI::App& app, Arguments& arguments) {
  CLI::Option* const url = AddAnything(
      &app, "--store", arguments.store.url,
      "URL of the store, as sqlite:PATH, mongodb://HOST/DATABASE or postgresql://HOST/DATABASE"
      " (default: $DOCLOCK_STORE)",
      "URL");
  AddAnything(&app, "--store-file", arguments.store.file, "File whose first line is that URL",
              "FILE")
      ->excludes(url);
  AddCollection(&app, "-c,--collection", arguments.collection, "Collection of the locks")
      ->capture_default_str();
  app.add_flag("--json", arguments.json, "Print JSON");
}

void AddRun(CLI::App& app, RunOptions& run) {
  CLI::App* const sub = app.add_subcommand(
      "run", "Hold a lock while a command runs:\nrun [OPTIONS] NAME -- COMMAND [ARGUMENTS]");
  sub->footer(
      "Exits with the command's exit code, or with\n"
      "  64         bad options\n"
      "  69         the store is down or refuses the call; never because the lock is busy\n"
      "  75         the lock is busy (--busy-exit changes this code)\n"
      "  76         the lock was lost\n"
      "  126, 127   the command cannot be executed; it does not exist\n"
      "  128+N      signal N ended the command, or the wait for the lock\n\n"
      "Example: doclock run --wait 5m nightly-backup -- rsync -a /data/ backup:/data/\n"
      "Example: doclock run --shared 4 --wait 1h render -- ./render frame-17");
  AddText(sub, "NAME", run.name, "Name of the lock", kMaxKeyBytes)->required()->type_name("");
  AddDuration(sub, "--wait", run.wait,
              "How long to wait while another client holds the lock (default: do not wait)");
  AddTtl(sub, run.ttl, "Length of the lease, which is renewed (default: 30s)");
  CLI::Option* const min_hold = AddDuration(
      sub, "--min-hold", run.min_hold,
      "No other client gets the lock for this long after the grant, even if the command "
      "ends sooner",
      {Duration(), kMaxTtl});
  AddNumber(sub, "--shared", run.shared,
            "Share the lock among up to N holders at a time (default: hold it exclusively)", 1,
            kMaxHolders)
      ->excludes(min_hold);
  AddDuration(sub, "--kill-after", run.kill_after.emplace(),
              "Time between TERM and KILL if the lock cannot be renewed, at most half of --ttl "
              "(default: 5s, or ttl/4 if that is less; 0: KILL alone)");
  AddText(sub, "--owner", run.owner,
          "Name of the holder, for display only (default: the command's name)", kMaxOwnerBytes);
  AddText(sub, "--group", run.group, "Group that the lock belongs to", kMaxOwnerBytes);
  AddAnything(sub, "--fence-env", run.fence_env,
              "Environment variable that tells the command its fence", "VARIABLE");
  AddNumber(sub, "--busy-exit", run.busy_exit, "Exit code if the lock is busy", 0, 255)
      ->type_name("CODE")
      ->capture_default_str();
}

void AddWaiting(CLI::App* sub, Duration& wait, Duration& ttl) {
  AddDuration(sub, "--wait", wait,
              "How long to wait while a document is locked (default: do not wait)");
  AddTtl(sub, ttl, "Length of the lease, which is renewed (default: 30s)");
}

CLI::App* AddDocument(CLI::App& app, const char* name, const char* help,
                      DocumentOptions& document) {
  CLI::App* const sub = app.add_subcommand(name, help);
  AddCollection(sub, "COLLECTION", document.collection, "Collection of the document")
      ->required()
      ->type_name("");
  sub->add_option("KEY", document.key.text, "Key of the document")->required()->type_name("");
  AddKeyType(sub, document.key);
  return sub;
}

CLI::Option* AddIfVersion(CLI::App* sub, DocumentOptions& document, const char* help) {
  return AddNumber(sub, "--if-version", document.if_version, help, 0, kHighest)
      ->excludes(sub->get_option("--wait"))
      ->excludes(sub->get_option("--ttl"));
}

void AddPut(CLI::App& app, DocumentOptions& document) {
  CLI::App* const put = AddDocument(
      app, "put", "Create a document; or lock it, replace it and unlock it in one write", document);
  AddWaiting(put, document.wait, document.ttl);
  AddAnything(put, "FILE", document.file, "File with the JSON; - is standard input", "")
      ->capture_default_str();
  CLI::Option* const version = AddIfVersion(
      put, document, "Replace the document only at this version, without taking its lock");
  put->add_flag("--create", document.create, "Only create the document: it must not exist")
      ->excludes(version)
      ->excludes(put->get_option("--wait"))
      ->excludes(put->get_option("--ttl"));
  put->footer(
      "Example: echo '{\"step\":\"paid\"}' | doclock put order_sagas 42\n"
      "Example: doclock put --if-version 3 order_sagas 42 new.json");
}

void AddDocuments(CLI::App& app, DocumentOptions& document) {
  CLI::App* const get = AddDocument(app, "get", "Print a document", document);
  get->add_flag("--full", document.full, "Print key, version and lock too, as export writes them");
  get->footer(
      "Example: doclock get order_sagas 42\n"
      "Example: doclock get --key-type int order_sagas -- -7");
  AddPut(app, document);
  CLI::App* const edit = AddDocument(app, "edit", "Lock a document while you edit it", document);
  AddWaiting(edit, document.wait, document.ttl);
  AddAnything(edit, "--editor", document.editor, "Editor to use instead of $VISUAL, $EDITOR and vi",
              "COMMAND");
  edit->footer("Example: EDITOR=nano doclock edit --wait 10s order_sagas 42");
  CLI::App* const erase = AddDocument(app, "delete", "Lock a document and delete it", document);
  AddWaiting(erase, document.wait, document.ttl);
  AddIfVersion(erase, document,
               "Delete the document only at this version, without taking its lock");
  erase->footer("Example: doclock delete --wait 10s order_sagas 42");
}

void AddSearch(CLI::App* sub, SearchOptions& search) {
  AddCollection(sub, "COLLECTION", search.collection, "Collection of the documents")
      ->required()
      ->type_name("");
  sub->add_option("--where", search.conditions,
                  "Condition, as status=queued, due<=10 or customer.name!=null; may be repeated")
      ->type_name("FIELD=VALUE")
      ->allow_extra_args(false);
  AddAnything(sub, "--order-by", search.order, "Field to order by", "FIELD");
  sub->add_flag("--descending", search.descending, "With --order-by: highest value first")
      ->needs(sub->get_option("--order-by"));
  sub->add_option("--after", search.after, "Only documents behind this key, in the order of keys")
      ->type_name("KEY");
  AddKeyType(sub, search.key_type);
  AddNumber(sub, "--limit", search.limit, "The largest number of documents", 1, kHighest);
  CLI::Option* const free =
      sub->add_flag("--free", search.free, "Only documents that are not locked");
  sub->add_flag("--locked", search.locked, "Only documents that are locked")->excludes(free);
}

void AddLists(CLI::App& app, ListOptions& list) {
  app.add_subcommand("collections", "Show the names of the collections")
      ->footer("Example: doclock collections");
  CLI::App* const sub = app.add_subcommand("list", "Show the documents of a collection");
  AddSearch(sub, list);
  sub->add_flag("--keys", list.keys, "Print only the keys");
  sub->footer(
      "Example: doclock list --where step=queued --order-by due --limit 10 order_sagas\n"
      "Example: doclock list --json --locked order_sagas");
}

void AddTransfers(CLI::App& app, TransferOptions& transfer) {
  CLI::App* const from = app.add_subcommand("export", "Write documents as lines of JSON");
  AddSearch(from, transfer);
  AddAnything(from, "FILE", transfer.file, "File to create; - is standard output", "")
      ->capture_default_str();
  CLI::Option* const lock =
      from->add_flag("--lock", transfer.lock, "Lock each document while it is read");
  AddWaiting(from, transfer.wait, transfer.ttl);
  from->get_option("--wait")->needs(lock);
  from->get_option("--ttl")->needs(lock);
  from->add_flag("--resume", transfer.resume,
                 "Go on with FILE: add the documents that it does not hold yet");
  from->footer("Example: doclock export order_sagas sagas.jsonl");
  CLI::App* const into = app.add_subcommand(
      "import", "Create or replace documents, each under its lock, from lines of JSON");
  AddCollection(into, "COLLECTION", transfer.collection, "Collection of the documents")
      ->required()
      ->type_name("");
  AddAnything(into, "FILE", transfer.file, "File that export wrote; - is standard input", "")
      ->capture_default_str();
  CLI::Option* const key =
      AddAnything(into, "--key", transfer.key.text,
                  "The lines are plain documents, and this member of each is its key; a name, not "
                  "a path",
                  "FIELD");
  AddKeyType(into, transfer.key);
  into->get_option("--key-type")->needs(key);
  AddWaiting(into, transfer.wait, transfer.ttl);
  CLI::Option* const resume =
      into->add_flag("--resume", transfer.resume,
                     "Skip documents that the store holds already as they are in FILE");
  into->add_flag("--create", transfer.create, "Skip documents that exist")->excludes(resume);
  into->footer(
      "Example: doclock import --wait 10s order_sagas sagas.jsonl\n"
      "Example: doclock import --key id orders documents.jsonl");
}

void AddOutbox(CLI::App& app, OutboxOptions& outbox) {
  CLI::App* const sub = app.add_subcommand(
      "outbox",
      "Show how many messages of an outbox wait, and which are parked; retry or drop them");
  AddCollection(sub, "COLLECTION", outbox.collection, "Collection of the outbox")
      ->required()
      ->type_name("");
  CLI::Option* const key =
      sub->add_option("KEY", outbox.key.text, "Key of the message to retry or drop")->type_name("");
  AddKeyType(sub, outbox.key);
  sub->get_option("--key-type")->needs(key);
  CLI::Option* const retry = sub->add_flag(
      "--retry", outbox.retry, "Make the parked message due now; without KEY all parked ones");
  sub->add_flag("--drop", outbox.drop,
                "Delete the message unsent, and let those behind it in its order go")
      ->needs(key)
      ->excludes(retry);
  sub->footer(
      "Example: doclock outbox outbox\n"
      "Example: doclock outbox --retry outbox\n"
      "Example: doclock outbox --drop outbox pay-7:paid");
}

void AddWork(CLI::App& app, WorkArguments& work) {
  CLI::App* const sub = app.add_subcommand(
      "work",
      "Show how many documents of workers are due, and which are parked; retry or drop them");
  AddCollection(sub, "COLLECTION", work.collection, "Collection of the documents")
      ->required()
      ->type_name("");
  CLI::Option* const key =
      sub->add_option("KEY", work.key.text, "Key of the document to retry or drop")->type_name("");
  AddKeyType(sub, work.key);
  sub->get_option("--key-type")->needs(key);
  sub->add_option("--attempts", work.attempts,
                  "Member with the attempts, with dots for a deeper one")
      ->capture_default_str()
      ->type_name("MEMBER");
  CLI::Option* const retry = sub->add_flag(
      "--retry", work.retry, "Make the parked document due now; without KEY all parked ones");
  sub->add_flag("--drop", work.drop, "Delete the parked document")->needs(key)->excludes(retry);
  sub->footer(
      "Example: doclock work orders\n"
      "Example: doclock work --retry orders\n"
      "Example: doclock work --drop orders 42");
}

void AddStatus(CLI::App& app, LocksOptions& locks) {
  CLI::App* const sub = app.add_subcommand("status", "Show the locks and their holders");
  sub->footer(
      "Example: doclock status --watch --prefix reports/\n"
      "Example: doclock -c orders status --key-type int 42");
  sub->add_option("NAME", locks.key.text, "Only this lock")->type_name("");
  AddKeyType(sub, locks.key);
  AddText(sub, "--prefix", locks.filter.name_prefix, "Only names with this prefix", kMaxKeyBytes);
  AddText(sub, "--owner", locks.filter.owner, "Only locks of this owner", kMaxOwnerBytes);
  AddText(sub, "--group", locks.filter.group, "Only locks of this group", kMaxOwnerBytes);
  CLI::Option* const expired = sub->add_flag("--expired", locks.expired, "Only expired locks");
  sub->add_flag("--live", locks.live, "Only live locks")->excludes(expired);
  sub->add_flag(
      "--closed", locks.filter.closed,
      "Also show locks that have no holder but that min_hold keeps closed; reads every name");
  CLI::Option* const watch = sub->add_flag("--watch", locks.watch, "Repeat until interrupted");
  AddDuration(sub, "--interval", locks.interval, "With --watch: how often (default: 2s)",
              kIntervals)
      ->needs(watch);
}

void AddEvents(CLI::App& app, EventsOptions& events) {
  CLI::App* const sub = app.add_subcommand(
      "events", "Print the held locks; with --follow also each grant, release, expiry and break");
  CLI::Option* const follow = sub->add_flag("--follow", events.follow, "Go on until interrupted");
  AddText(sub, "--prefix", events.prefix, "Only names with this prefix", kMaxKeyBytes);
  AddDuration(sub, "--interval", events.interval,
              "With --follow: how often to look (default: 500ms)", kIntervals)
      ->needs(follow);
  sub->footer(
      "events does not see a lock that is granted and released between two looks.\n\n"
      "Example: doclock events --follow --json");
}

void AddTop(CLI::App& app, TopOptions& top) {
  CLI::App* const sub =
      app.add_subcommand("top", "Show the locks in full screen, and keep them up to date");
  AddText(sub, "--prefix", top.prefix, "Only names with this prefix", kMaxKeyBytes);
  const auto check = [](std::string& text) -> std::string {
    const bool known = std::find(kTopOrders.begin(), kTopOrders.end(), text) != kTopOrders.end();
    return known ? "" : "must be age, name, holder, left, rate or wait";
  };
  sub->add_option("--sort", top.sort, "Order: age, name, holder, left, rate or wait")
      ->check(CLI::Validator(check, "", ""))
      ->type_name("ORDER")
      ->capture_default_str();
  AddDuration(sub, "--interval", top.interval, "How often to look (default: 2s)", kIntervals);
  sub->footer(
      "Keys: q quits, s sorts by the next column, / filters by name and holder, arrows scroll.\n\n"
      "Example: doclock top --prefix reports/ --sort left");
}

void AddGroupOrLock(CLI::App* sub, LocksOptions& locks) {
  sub->add_option("GROUP", locks.key.text,
                  "The group; with --lock-file the name or key of one lock")
      ->required()
      ->type_name("");
  CLI::Option* const file = AddAnything(
      sub, "--lock-file", locks.lock_file,
      "File that holds the id of the one lock, as a UUID or as LockFields in JSON; - is standard "
      "input",
      "FILE");
  AddKeyType(sub, locks.key);
  sub->get_option("--key-type")->needs(file);
}

void AddGroups(CLI::App& app, LocksOptions& locks) {
  CLI::App* const renew =
      app.add_subcommand("renew", "Renew the leases of a group's locks, or of one lock");
  AddGroupOrLock(renew, locks);
  AddTtl(renew, locks.ttl, "New length of the leases (default: unchanged)");
  renew->footer(
      "Example: doclock renew --ttl 10m deployment-17\n"
      "Example: doclock -c orders renew --lock-file lock.json --key-type int 42");
  CLI::App* const release =
      app.add_subcommand("release", "Release a group's locks, newest first, or one lock");
  AddGroupOrLock(release, locks);
  release->footer(
      "Example: doclock release deployment-17\n"
      "Example: doclock -c orders release --lock-file lock.json --key-type int 42");
}

void AddTidying(CLI::App& app, LocksOptions& locks) {
  CLI::App* const purge = app.add_subcommand("purge", "Clear what expired locks left in the store");
  CLI::Option* const forget = purge->add_flag(
      "--forget", locks.purge.forget,
      "Also delete names that were not held for --idle-for; their fences begin at 1 again");
  CLI::Option* const idle = AddDuration(purge, "--idle-for", locks.purge.idle_for,
                                        "With --forget: how long a name must not have been held",
                                        {std::chrono::milliseconds(1), kForever});
  forget->needs(idle);
  idle->needs(forget);
  purge->footer(
      "Example: doclock purge --forget --idle-for 30d\n"
      "Example: doclock purge -c orders");
  CLI::App* const breaking = app.add_subcommand("break", "End another client's lock");
  breaking->add_option("NAME", locks.key.text, "Name of the lock, or key of a document")
      ->required()
      ->type_name("");
  AddKeyType(breaking, locks.key);
  AddText(breaking, "--by", locks.by,
          "Name of the person or program that breaks the lock, for display only", kMaxOwnerBytes);
  breaking->footer(
      "Example: doclock break --by \"$(id -un)\" nightly-backup\n"
      "Example: doclock -c orders break --key-type int 42");
  app.add_subcommand("doctor", "Examine the store, and say what to mend")
      ->footer(
          "Exits with 0 if all is well, 78 if there is something to mend, 69 if the store is "
          "down.\n\n"
          "Example: doclock doctor\n"
          "Example: doclock doctor -c orders");
}

}  // namespace

void AddCommands(CLI::App& app, Arguments& arguments) {
  AddCommon(app, arguments);
  AddRun(app, arguments.run);
  AddDocuments(app, arguments.document);
  AddLists(app, arguments.list);
  AddTransfers(app, arguments.transfer);
  AddOutbox(app, arguments.outbox);
  AddWork(app, arguments.work);
  AddStatus(app, arguments.locks);
  AddEvents(app, arguments.events);
  AddTop(app, arguments.top);
  AddGroups(app, arguments.locks);
  AddTidying(app, arguments.locks);
}

}  // namespace doclock::cli
