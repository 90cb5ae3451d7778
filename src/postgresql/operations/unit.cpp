#include "postgresql/operations/unit.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "document/json/row_filter.h"
#include "postgresql/hints/listener.h"
#include "postgresql/query/scan.h"
#include "postgresql/query/search.h"
#include "postgresql/tables/rows.h"
#include "postgresql/tables/texts.h"

namespace doclock::postgresql {
namespace {

using locking::Candidate;
using locking::Document;

constexpr auto kClock = &Fixed<[] { return "SELECT clock_timestamp()"; }>;
/// A call that has done its work waits at most this long for the NOTIFY of its hints.
constexpr std::chrono::seconds kLongestTelling{1};
/// A hint need not be on the disk before it is sent. Those of all programs take turns.
constexpr auto kNotify = &Fixed<[] {
  return "SELECT set_config('synchronous_commit', 'off', true),"
         " set_config('lock_timeout', '900ms', true), pg_notify($1, $2)";
}>;
constexpr auto kTimeLimit =
    &Fixed<[] { return "SELECT set_config('statement_timeout', $1, true)"; }>;
/// The comment that EnsureIndex gave it, or its own name.
constexpr auto kIndexFields = &Fixed<[] {
  return std::string(
      "SELECT coalesce((SELECT obj_description(c.oid, 'pg_class') FROM pg_index i"
      " JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = $2::text::regclass"
      " AND c.relname = $1::text), $1)");
}>;

/// A limit for a wait: none is shorter than a session's own, nor longer than the server can count.
std::chrono::milliseconds AsSetting(std::chrono::nanoseconds most) {
  using namespace std::chrono;
  return std::clamp(floor<milliseconds>(most), kLockWait, milliseconds(hours(1)));
}

PostgresqlCollection& Ours(Collection& collection) {
  return static_cast<PostgresqlCollection&>(collection);
}

Parameters KeyOf(const Document& document) {
  Parameters parameters;
  AddKey(parameters, *document.asked.key);
  return parameters;
}

/// Short cuts of one statement.
struct Together {
  std::vector<const ShortCut*> cuts;
  std::vector<const Parameters*> keys;
  std::size_t place = 0;  ///< Of its result.
};

/// @throws Loss if it is another document's
FoundRow RowOf(const Result& result, const Document& document) {
  FoundRow row = ReadRow(result, 0);
  if (result.size() != 1 || row.key != *document.asked.key) RefuseAnswer("a row of another key");
  return row;
}

/// Whether it is the same body, not only an equal one.
bool KeepsBody(const Document& document) {
  return document.loaded.entry != nullptr &&
         &document.loaded.entry->body.text() == &document.decision.entry->body.text();
}

}  // namespace

PostgresqlUnit::PostgresqlUnit(Pool& pool, locking::Access access, Deadline deadline,
                               std::int64_t instance)
    : pool_(pool),
      access_(access),
      deadline_(deadline),
      instance_(instance),
      connection_(pool.Take(deadline, access == locking::Access::kRenew)) {}

PostgresqlUnit::~PostgresqlUnit() {
  if (has_begun_ && !connection_->is_lost()) connection_->RunAndRollback(deadline_);
}

void PostgresqlUnit::Begin() {
  has_looked_ = true;
  if (access_ == locking::Access::kRead || std::exchange(has_begun_, true)) return;
  connection_->Begin();
}

TimePoint PostgresqlUnit::Now() {
  if (!now_) {
    WithoutDoubt([&] {
      Begin();
      connection_->Send(kClock());
      now_ = TimeAt(Run().back(), 0, 0);
    });
  }
  return *now_;
}

void PostgresqlUnit::BeginSnapshot() {
  if (!std::exchange(has_begun_, true)) connection_->BeginSnapshot();
}

std::optional<std::chrono::system_clock::time_point> PostgresqlUnit::WallTime() {
  using std::chrono::system_clock;
  constexpr std::chrono::sys_days kZero{std::chrono::January / 1 / 2000};  // of the server's times
  return kZero + std::chrono::floor<system_clock::duration>(Now().time_since_epoch());
}

void PostgresqlUnit::Load(std::span<Document> documents) {
  WithoutDoubt([&] {
    const bool reads = access_ == locking::Access::kRead;
    const bool all = access_ == locking::Access::kWriteAll;
    const bool first_look = !has_looked_;
    const bool lone =
        !reads && !all && first_look && documents.size() == 1 && documents.front().asked.alone;
    const bool may_wait = (all || lone) && !HasNoTimeToWait();
    // Renewals have a connection of their own, and wait briefly.
    const bool renews = access_ == locking::Access::kRenew;
    const auto row_wait = may_wait && !renews ? pool_.TakeRowWait() : nullptr;
    const bool waits = may_wait && (renews || row_wait != nullptr);
    Begin();
    if (waits && (all || access_ == locking::Access::kWrite)) {
      has_long_waits_ = true;
      connection_->LimitLockWaits(LongestWait(documents.front().asked.patience));
    }
    const bool sees_moment = reads && documents.size() > 1 && !has_begun_;
    if (sees_moment) connection_->BeginSnapshot();
    std::size_t first = 0;
    for (const Document& document : documents) {
      const PostgresqlCollection& collection = Ours(*document.asked.collection);
      const Statement& statement = reads   ? collection.read
                                   : waits ? collection.lock
                                           : collection.lock_free;
      const std::size_t place = connection_->Send(statement, KeyOf(document));
      if (&document == &documents.front()) first = place;
    }
    // Behind the locks: while a statement waits for one, the clock goes on.
    if (!now_) connection_->Send(kClock());
    if (sees_moment) connection_->Commit();
    const std::vector<Result> results = [&] {
      try {
        return Run();
      } catch (const Refusal& refusal) {
        if (!refusal.IsKept() || reads || all) throw;
        ThrowKept(documents);
      }
    }();
    if (!now_) now_ = TimeAt(results.back(), 0, 0);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const Result& result = results[first + i];
      if (result.size() > 0) Keep(documents[i], RowOf(result, documents[i]));
    }
    if (!reads && !waits && (all || documents.size() > 1 || first_look)) MarkBlocked(documents);
    if ((all || lone) && std::ranges::any_of(documents, &Document::IsBlocked)) ThrowKept(documents);
  });
}

std::chrono::milliseconds PostgresqlUnit::LongestWait(Deadline patience) const {
  const auto left = std::min(deadline_, patience) - std::chrono::steady_clock::now();
  return AsSetting((left - 2 * kLockWait) / 2);
}

void PostgresqlUnit::ThrowKept(std::span<const Document> documents) const {
  using locking::Access;
  const bool waits = access_ != Access::kBriefly && access_ != Access::kRenew &&
                     std::chrono::steady_clock::now() < documents.front().asked.patience;
  if (waits) throw locking::Raced(locking::kKeptText);
  throw locking::Kept();
}

void PostgresqlUnit::Keep(Document& document, FoundRow&& found) {
  document.loaded.malformed = found.malformed;
  if (found.malformed) return;
  found.entry.lock.floor = floor();
  entries_.push_back(std::make_unique<const locking::Entry>(std::move(found.entry)));
  document.loaded.entry = entries_.back().get();
}

void PostgresqlUnit::MarkBlocked(std::span<Document> documents) {
  std::vector<Document*> missing;
  for (Document& document : documents) {
    if (document.loaded.entry != nullptr || document.loaded.malformed) continue;
    connection_->Send(Ours(*document.asked.collection).exists, KeyOf(document));
    missing.push_back(&document);
  }
  if (missing.empty()) return;
  const std::vector<Result> results = Run();
  for (std::size_t i = 0; i < missing.size(); ++i)
    missing[i]->loaded.blocked = results[i].size() == 1;
}

void PostgresqlUnit::Send(const Document& document) {
  const PostgresqlCollection& collection = Ours(*document.asked.collection);
  Parameters parameters = KeyOf(document);
  if (document.decision.erased) {
    connection_->Send(collection.erase, parameters);
    return;
  }
  AddLock(parameters, document.decision.entry->lock);
  const bool keeps_body = KeepsBody(document);
  if (!keeps_body) parameters.Jsonb(JsonbOf(document.decision.entry->body));
  connection_->Send(document.loaded.entry == nullptr ? collection.insert
                    : keeps_body                     ? collection.update_lock
                                                     : collection.update,
                    parameters);
}

void PostgresqlUnit::Commit(std::span<Document> documents) {
  try {
    if (HasNoTimeToWait()) {
      connection_->LimitLockWaits(std::chrono::milliseconds(1));
    } else if (has_long_waits_) {
      connection_->LimitLockWaits(kLockWait);
    }
    std::set<std::int64_t> hint_locks;
    for (const Document& document : documents) {
      if (!document.IsDecided()) continue;
      Send(document);
      if (document.decision.notice == locking::Notice::kNobody) continue;
      hint_locks.insert(Ours(*document.asked.collection).hint_lock());
    }
    CommitAndAsk(hint_locks);
  } catch (const Refusal& refusal) {
    return Refuse(refusal, documents);
  } catch (const Loss& loss) {
    if (loss.nothing_done) ThrowNothingStored();
    throw InDoubtException("doclock: PostgreSQL: " + loss.text);
  }
  for (Document& document : documents) {
    if (document.IsDecided()) document.outcome.status = OpStatus::kDone;
  }
  Tell(documents);
}

void PostgresqlUnit::CommitAndAsk(const std::set<std::int64_t>& hint_locks) {
  std::vector<std::size_t> asked;
  for (const std::int64_t lock : hint_locks) {
    asked.push_back(connection_->Send(AsksForListeners(), Parameters().Int8(lock)));
  }
  connection_->Commit();
  const std::vector<Result> results = RunCommit();
  has_begun_ = false;
  others_listen_ = std::any_of(asked.begin(), asked.end(),
                               [&](std::size_t place) { return results[place].Number(0, 0) != 0; });
}

std::vector<Result> PostgresqlUnit::RunCommit() {
  std::vector<Result> results = Run();
  if (connection_->unreplicated()) {
    throw InDoubtException("doclock: PostgreSQL: the commit did not wait for the standbys");
  }
  return results;
}

bool PostgresqlUnit::CarryOut(std::span<const ShortCut> cuts, bool alone) {
  const auto doubt = [&](const std::string& text) {
    for (const ShortCut& cut : cuts) Doubt(cut, floor(), text);
  };
  try {
    std::map<const RowUpdate*, Together> groups;
    for (const ShortCut& cut : cuts) {
      Together& group = groups[cut.update];
      group.cuts.push_back(&cut);
      group.keys.push_back(&cut.parameters);
    }
    // Statements that are sent together, without BEGIN, are one transaction too.
    if (connection_->shares_sessions()) Begin();
    const bool waits = alone && !HasNoTimeToWait();
    if (waits) {
      // The row may have several holders, one after the other, and each is waited for.
      const auto most = AsSetting((deadline_ - std::chrono::steady_clock::now()) / 8 * 7);
      connection_->Send(kTimeLimit(), Parameters().Text(std::to_string(most.count())));
    }
    for (auto& [update, group] : groups) {
      group.place = update->Send(*connection_, group.keys, waits);
    }
    if (has_begun_) connection_->Commit();
    const std::vector<Result> results = RunCommit();
    has_begun_ = false;
    for (const auto& [update, group] : groups) {
      const Result& result = results[group.place];
      for (int row = 0; row < result.size(); ++row) {
        const std::int64_t place = result.NumberWithin(row, 0, 1, std::ssize(group.cuts));
        const ShortCut& cut = *group.cuts[static_cast<std::size_t>(place - 1)];
        if (cut.op->status != OpStatus::kPending) RefuseAnswer("a row comes twice");
        Settle(cut, result, row);
        others_listen_ = others_listen_ || (cut.frees && result.Number(row, 2) != 0);
      }
    }
    Tell(cuts);
  } catch (const InDoubtException& error) {
    doubt(error.what());
  } catch (const Loss& loss) {
    if (loss.nothing_done) return true;
    doubt("doclock: PostgreSQL: " + loss.text);
  } catch (const Refusal& refusal) {
    return !refusal.IsKept() && !refusal.IsTimeout();  // of a value or a race the long way tells
  }
  return true;
}

void PostgresqlUnit::Refuse(const Refusal& refusal, std::span<Document> documents) {
  const bool all = access_ == locking::Access::kWriteAll;
  // Which of several was refused, they show one by one.
  const bool by_one = refusal.IsAboutAValue() || refusal.IsKept();
  if (documents.size() > 1 && !all && by_one) throw locking::Raced();
  if (!all && refusal.IsKept()) ThrowKept(documents);
  // Joined work would run again after each wait.
  if (joined_ && refusal.IsKept()) throw StoreException(Errc::kUnavailable, locking::kKeptText);
  // Statements were sent for the decided ones, in their order.
  std::size_t before = all ? refusal.place : 0;
  const auto sent = std::ranges::find_if(
      documents, [&](const Document& document) { return document.IsDecided() && before-- == 0; });
  if (!refusal.IsRepeatedValue() || sent == documents.end()) ThrowNothingStored();
  // Who inserted the key first is what the next look shows.
  Document& document = *sent;
  const PostgresqlCollection& collection = Ours(*document.asked.collection);
  if (refusal.constraint == collection.key_constraint()) throw locking::Raced();
  document.outcome.RefuseBy(
      WithoutDoubt([&] { return NameOfIndex(collection, refusal.constraint); }));
}

std::string PostgresqlUnit::NameOfIndex(const PostgresqlCollection& collection,
                                        const std::string& constraint) {
  has_begun_ = false;
  connection_->Rollback();
  Parameters parameters;
  parameters.Text(constraint).Text(collection.table());
  connection_->Send(kIndexFields(), parameters);
  return std::string(Run().back().Text(0, 0));
}

template <class Part, class F>
void PostgresqlUnit::TellEach(std::span<Part> parts, const F& tell) noexcept {
  try {
    bool others = false;
    for (Part& part : parts) others = tell(part) || others;
    // A NOTIFY inside of a transaction would keep the commits of all clients apart.
    const auto soon = std::chrono::steady_clock::now() + kLongestTelling;
    if (others) connection_->Run(std::min(deadline_, soon));
  } catch (const std::exception&) {  // a hint may be missing
  }
}

void PostgresqlUnit::Tell(std::span<const Document> documents) noexcept {
  TellEach(documents, [&](const Document& document) {
    const bool concerns = document.outcome.status == OpStatus::kDone &&
                          document.decision.notice != locking::Notice::kNobody;
    return concerns && Tell(*document.asked.collection, document.Hint(),
                            document.decision.entry->lock.passed_on);
  });
}

void PostgresqlUnit::Tell(std::span<const ShortCut> cuts) noexcept {
  TellEach(cuts, [&](const ShortCut& cut) {
    const bool concerns = cut.frees && cut.op->status == OpStatus::kDone;
    return concerns && Tell(*cut.op->collection, {cut.op->hash}, {});
  });
}

bool PostgresqlUnit::Tell(Collection& concerned, const LockHint& local,
                          const rules::PassedOn& passed_on) {
  PostgresqlCollection& collection = Ours(concerned);
  const bool ours = passed_on.done && passed_on.instance == instance_;
  if (ours || !passed_on.done) collection.watchers().Tell(local);
  if (ours || !others_listen_) return false;
  const Hint hint{*local.hash, passed_on.done ? passed_on.instance : 0};
  Parameters parameters;
  parameters.Text(collection.table_name()).Text(hint.ToText());
  connection_->Send(kNotify(), parameters);
  return true;
}

void PostgresqlUnit::BeginScan() { access_ == locking::Access::kRead ? BeginSnapshot() : Begin(); }

void PostgresqlUnit::Scan(Collection& collection, const Filter& filter,
                          const std::function<bool(QueryRow&&)>& visit) {
  WithoutDoubt([&] {
    BeginScan();
    postgresql::Scan(*connection_, deadline_, Ours(collection), Now())
        .Run(filter, access_ == locking::Access::kRead, visit);
  });
}

std::string PostgresqlUnit::ScanLocks(Collection& collection, const LockQuery& query,
                                      const std::string&,
                                      const std::function<bool(Candidate&&)>& visit) {
  WithoutDoubt([&] {
    BeginScan();
    const auto show = [&](FoundRow&& found) {
      const bool has_body = !TreeOf(found.entry.body).empty();
      return visit({std::move(found.key), std::move(found.entry.lock), has_body, found.malformed});
    };
    postgresql::Scan(*connection_, deadline_, Ours(collection), Now())
        .ForEachRow(kWholeBody, SelectOf(query), /*few=*/false, show);
  });
  return {};
}

}  // namespace doclock::postgresql
