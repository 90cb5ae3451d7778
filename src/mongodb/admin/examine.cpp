#include "mongodb/admin/admin.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "document/free_space.h"
#include "mongodb/admin/collection_rules.h"
#include "mongodb/client/privileges.h"
#include "mongodb/unit/operations.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

/// With larger differences the time that locks are shown with misleads.
constexpr milliseconds kSkewed{1000};
/// With so many documents a search for held locks without their index takes long.
constexpr std::int64_t kManyDocuments = 10'000;

/// One examination.
class Examiner {
 public:
  Examiner(Server& server, milliseconds budget) : server_(server), operations_(server, budget) {}

  void LookAtServer() {
    Reply info;
    if (Asked("server", Doc::Of("buildInfo", 1), info)) {
      Ok("server", "MongoDB " + TextAt(info.doc(), "version"));
    }
    Reply hello;
    if (!Asked("topology", Doc::Of("hello", 1), hello)) return;
    LookAtTopology(hello.doc());
    LookAtTime(hello.doc());
  }
  void LookAtClocks(const ClockSkew& skew) {
    Judge("clocks", skew.Text(), skew.most > kSkewed,
          "synchronise the servers' clocks, for example by NTP");
  }
  void LookAtDisk() {
    Reply stats;
    if (!Asked("disk", Doc::Of("dbStats", 1), stats)) return;
    const double total = NumberAt(stats.doc(), "fsTotalSize");
    const double used = NumberAt(stats.doc(), "fsUsedSize");
    if (total <= 0) return Ok("disk", "the server does not say how much room it has");
    findings.push_back(
        detail::JudgeFreeSpace(static_cast<std::uint64_t>(std::max(total - used, 0.0))));
  }
  void LookAtPrivileges(const std::string& collection) {
    Doc command = Doc::Of("connectionStatus", 1);
    command.Add("showPrivileges", true);
    Reply status;
    if (!Asked("privileges", std::move(command), status)) return;
    bson_t auth;
    if (!status.Document("authInfo", auth)) return;
    if (!HasUser(auth)) return Ok("privileges", "the server asks for no user");
    const std::string missing = MissingActions(auth, server_.database(), collection);
    if (missing.empty()) return Ok("privileges", "the user may do all that locks need");
    Add(FindingLevel::kProblem, "privileges", "the user lacks " + missing,
        "grant these actions on the collections of documents and locks");
  }
  void LookAtOptions(const Collection& collection) {
    Reply reply;
    if (!Asked("collection", OptionsOf(collection.name()), reply)) return;
    AddAll(collection, JudgeOptions(reply, collection.fields()));
  }
  /// @param library see JudgeForeignLocks
  void LookAtDocuments(const Collection& collection, std::string_view library) {
    Reply reply;
    if (!Asked("collection", ForeignLocksIn(collection, library), reply)) return;
    AddAll(collection, JudgeForeignLocks(reply, collection, library));
  }
  void LookAtIndexes(const Collection& collection) {
    Reply list, count;
    if (!Asked("indexes", IndexesOf(collection.name()), list)) return;
    AddAll(collection, JudgeIndexes(list, collection.fields()));
    if (HasIndex(list, "doclock_held")) return Ok("indexes", "held locks are found by their index");
    if (!Asked("indexes", Doc::Of("count", std::string_view(collection.name())), count)) return;
    Judge("indexes",
          "there is no index of held locks; documents: " + std::to_string(count.Integer("n")),
          count.Integer("n") > kManyDocuments,
          "let a program call EnsureIndexes(): status, purge and top look at every document");
  }
  /// @param index the one that the other library makes
  void LookAtPlace(const Collection& collection, const Doc& index, std::string_view library) {
    Reply options, list;
    if (Asked("collection", OptionsOf(collection.name()), options)) {
      AddAll(collection, JudgePlace(options));
    }
    if (!Asked("indexes", IndexesOf(collection.name()), list)) return;
    auto found = JudgePlaceIndexes(list, index, library);
    const bool is_there = HasIndexLike(index, list, found);
    AddAll(collection, std::move(found));
    bson_iter_t unique;
    if (!is_there && FindField(*index.get(), "unique", unique)) {
      Add(FindingLevel::kProblem, "indexes",
          "the unique index is missing without which locks of " + std::string(library) +
              " do not exclude each other",
          "let a program that takes these locks create it");
    }
    const std::string field = ExpiryField(*index.get());
    if (field.empty()) return;  // theirs does not delete
    bool has = false;
    list.ForEachInBatch([&](const bson_t& one) { return !(has = ExpiryField(one) == field); });
    Judge(
        "indexes",
        has ? "the server deletes expired locks, by their index" : "expired locks are not deleted",
        !has, "let a program call EnsureIndexes(), or purge from time to time");
  }

  std::vector<Finding> findings;

 private:
  void LookAtTopology(const bson_t& hello) {
    if (TextAt(hello, "msg") == "isdbgrid") return Ok("topology", "a sharded cluster (mongos)");
    const std::string set = TextAt(hello, "setName");
    bson_iter_t primary;
    if (FindField(hello, "isWritablePrimary", primary) && !bson_iter_as_bool(&primary)) {
      return Add(FindingLevel::kProblem, "topology", "the server is not the primary of " + set,
                 "name the replica set in the URI (replicaSet=...) in place of "
                 "directConnection=true");
    }
    if (!set.empty()) {
      return Ok("topology",
                "replica set " + set + ", members that hold data: " +
                    std::to_string(CountIn(hello, "hosts") + CountIn(hello, "passives")));
    }
    Add(FindingLevel::kWarning, "topology", "a single server without a replica set",
        "use a replica set: without one, there are no transactions, no inbox and no outbox, "
        "waiters are not notified, and nothing takes over when the server fails");
  }
  /// The age of locks is shown by this machine's clock; leases do not depend on it.
  void LookAtTime(const bson_t& hello) {
    bson_iter_t time;
    if (!FindField(hello, "localTime", time) || !BSON_ITER_HOLDS_DATE_TIME(&time)) return;
    const auto here = std::chrono::duration_cast<milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    const std::int64_t apart = std::abs(here.count() - bson_iter_date_time(&time));
    Judge("time",
          "the server's clock and this machine's differ by " + std::to_string(apart) + " ms",
          apart > kSkewed.count(), "synchronise both clocks, for example by NTP");
  }
  static double NumberAt(const bson_t& doc, const char* name) {
    bson_iter_t field;
    return FindField(doc, name, field) ? bson_iter_as_double(&field) : 0;
  }

  /// False: the server refused, which is a finding, or the collection is missing.
  /// @throws StoreException for an outage
  bool Asked(const char* check, Doc command, Reply& reply) {
    operations_.Read(command, reply);
    if (reply.answered()) return true;
    if (reply.code == kNamespaceNotFound) return false;
    if (reply.outcome != Outcome::kRefused) {
      throw StoreException(Errc::kUnavailable, "doclock: MongoDB: " + reply.text);
    }
    Add(FindingLevel::kWarning, check, "it cannot be examined: " + reply.text,
        "use a user that may run this command");
    return false;
  }
  /// Gives each text its subject.
  void AddAll(const Collection& collection, std::vector<Finding> found) {
    for (Finding& one : found) {
      one.text = "the collection " + collection.name() + " " + one.text;
      findings.push_back(std::move(one));
    }
  }
  void Ok(const char* check, std::string text) {
    findings.push_back({check, FindingLevel::kOk, std::move(text)});
  }
  void Add(FindingLevel level, const char* check, std::string text, const char* advice) {
    findings.push_back({check, level, std::move(text), advice});
  }
  void Judge(const char* check, std::string text, bool bad, const char* advice) {
    if (!bad) return Ok(check, std::move(text));
    Add(FindingLevel::kWarning, check, std::move(text), advice);
  }

  Server& server_;
  Operations operations_;
};

}  // namespace

std::vector<Finding> Examine(Server& server, const Collection* collection, const ClockSkew& skew,
                             milliseconds budget) {
  Examiner examiner(server, budget);
  examiner.LookAtServer();
  examiner.LookAtClocks(skew);
  examiner.LookAtDisk();
  if (collection == nullptr) return std::move(examiner.findings);
  examiner.LookAtPrivileges(collection->name());
  if (const Layout* const layout = LayoutOf(*collection)) {
    examiner.LookAtDocuments(*collection, layout->library());
    examiner.LookAtPlace(*collection, layout->Index(), layout->library());
  } else {
    examiner.LookAtOptions(*collection);
    examiner.LookAtDocuments(*collection, {});
    examiner.LookAtIndexes(*collection);
  }
  return std::move(examiner.findings);
}

}  // namespace doclock::mongodb
