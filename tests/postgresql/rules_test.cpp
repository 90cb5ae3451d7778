#include <cstdlib>
#include <map>

#include "doclock/stores/postgresql.h"
#include "plain/play.h"
#include "postgresql/client/url.h"
#include "postgresql/operations/unit.h"
#include "postgresql/support/raw_server.h"
#include "rules/fault.h"

namespace doclock::postgresql_test {
namespace {

using namespace std::chrono_literals;
using locking::Document;
using plain_test::Case;
using plain_test::Cases;
using plain_test::kNow;
using plain_test::Records;
using postgresql::PostgresqlUnit;
using rules::Plain;
using std::chrono::hours;

/// Counts the times of a lock from the zero of another clock.
rules::LockState Moved(rules::LockState lock, std::chrono::nanoseconds by, bool rounded) {
  const auto move = [&](TimePoint& time) {
    if (time == TimePoint{}) return;
    time += by;
    if (rounded) time = kNow + std::chrono::round<hours>(time - kNow);
  };
  const auto move_lease = [&](rules::Lease& lease) {
    move(lease.since);
    if (rounded) lease.ttl = std::chrono::round<hours>(lease.ttl);
  };
  move_lease(lock.lease);
  move(lock.granted);
  move(lock.closed_until);
  for (rules::Share& share : lock.shares) move_lease(share.lease), move(share.granted);
  for (rules::QueueEntry& entry : lock.queue) move(entry.until);
  return lock;
}

struct RulesSchema {
  Schema schema;
  std::shared_ptr<Store> store = OpenPostgresqlStore(schema.url());
};

class PostgresqlStoreRules : private RulesSchema, public plain_test::StoreAgainstRules {
 protected:
  PostgresqlStoreRules()
      : StoreAgainstRules(store, store->Open("things", {}, plain_test::kDefaultTtl)) {}

  void Put(Cases& cases) override {
    schema.raw().Run("DELETE FROM doclock_c_things");
    PostgresqlUnit unit = Begin(locking::Access::kWrite);
    std::vector<Document> documents = Load(unit, cases);
    since_ = unit.Now() - kNow;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (!cases[i].before) continue;
      plain_test::Record& before = *cases[i].before;
      // What other programs insert has none, until it is locked.
      if (before.lock.born.is_nil()) before.lock.born = plain_test::IdOf(40, cases[i].seed);
      // Else few operations would go through the door.
      if (cases[i].seed / 2 % 2 == 0) before.lock.queue.clear(), before.lock.closed_until = {};
      locking::Entry& entry = documents[i].Edit();
      entry = {Moved(before.lock, since_, false), Body::FromJson(before.body)};
    }
    unit.Commit(documents);
  }
  Records Stored(const Cases& cases) override {
    PostgresqlUnit unit = Begin(locking::Access::kRead);
    const std::vector<Document> documents = Load(unit, cases);
    Records stored;
    for (const Document& document : documents) {
      EXPECT_FALSE(document.loaded.malformed);
      if (document.loaded.entry == nullptr) continue;
      const auto& [lock, body] = *document.loaded.entry;
      stored[document.asked.key->ToString()] = {Moved(lock, -since_, true), body.json()};
    }
    return stored;
  }
  /// By the door what can go through it. The rules decide the rest.
  void Play(std::span<StoreOp* const> ops) override {
    std::vector<postgresql::ShortCut> cuts;
    for (StoreOp* const op : ops) {
      const Plain kind = rules::PlainOf(*op);
      if (FaultOf(*op) != nullptr || postgresql::UpdateOf(kind) == nullptr) continue;
      if (auto cut = postgresql::ShortCutOf({kind, op})) cuts.push_back(*std::move(cut));
    }
    if (!cuts.empty()) Begin(locking::Access::kWrite).CarryOut(cuts, ops.size() == 1);
    std::vector<StoreOp*> rest;
    for (StoreOp* const op : ops) {
      if (op->status == OpStatus::kPending) {
        rest.push_back(op);
      } else {
        ++done_[rules::PlainOf(*op)];
      }
    }
    if (!rest.empty()) StoreAgainstRules::Play(rest);
  }

  std::map<Plain, int> done_;  ///< How many of each kind went through the door.

 private:
  PostgresqlUnit Begin(locking::Access access) {
    return {pool_, access, std::chrono::steady_clock::now() + 1min, 0};
  }
  std::vector<Document> Load(PostgresqlUnit& unit, const Cases& cases) {
    std::vector<Document> documents;
    for (const Case& one : cases) documents.emplace_back(locking::Asked(*things_, one.key));
    unit.Load(documents);
    return documents;
  }

  postgresql::Pool pool_{postgresql::ParseUrl(schema.url())};
  std::chrono::nanoseconds since_{};  ///< From the rules' present to the server's.
};

TEST_F(PostgresqlStoreRules, DecideOperations) {
  DecideOperations(4);
  // A failure that is played again has too few.
  if (std::getenv("DOCLOCK_RULES_SEED") || std::getenv("DOCLOCK_RULES_CASES")) return;
  for (const Plain kind : {Plain::kTakeFree, Plain::kRenew, Plain::kRelease,
                           Plain::kWriteAndRelease, Plain::kCheckpoint, Plain::kHandOver}) {
    EXPECT_GT(done_[kind], 0) << "of kind " << static_cast<int>(kind);
  }
}
TEST_F(PostgresqlStoreRules, DecideInterventions) { DecideInterventions(); }
TEST_F(PostgresqlStoreRules, DecideTheNextFree) { DecideTheNextFree(); }
TEST_F(PostgresqlStoreRules, DecideWhatAPurgeClears) { DecideWhatAPurgeClears(); }
TEST_F(PostgresqlStoreRules, DecideWhatAListShows) { DecideWhatAListShows(); }

}  // namespace
}  // namespace doclock::postgresql_test
