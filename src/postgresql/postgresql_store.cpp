#include "doclock/stores/postgresql.h"

#include <algorithm>
#include <utility>

#include "document/collection.h"
#include "locking/locking_store.h"
#include "locking/program.h"
#include "postgresql/admin/examine.h"
#include "postgresql/client/pool.h"
#include "postgresql/hints/listener.h"
#include "postgresql/open_url.h"
#include "postgresql/operations/unit.h"
#include "postgresql/tables/schema.h"

namespace doclock {
namespace {

using namespace std::chrono_literals;
using postgresql::Listener;
using postgresql::Pool;
using postgresql::PostgresqlCollection;
using postgresql::PostgresqlUnit;
using postgresql::WithoutDoubt;
using std::chrono::milliseconds;

constexpr auto kOpenTimeout = 10s;
/// An index over a large table takes long.
constexpr auto kIndexTimeout = 1h;
/// Many callers make larger batches for fewer lanes. Measured on two cores, beside 11 lanes: 100
/// callers make 1.5 times their cycles, 32 callers on a server that is 2 ms away 1.1 times, and 8
/// callers as many.
constexpr int kLanes = 4;

locking::Deadline In(std::chrono::seconds timeout) {
  return std::chrono::steady_clock::now() + timeout;
}

/// Returns `use(connection)`, which is called again with another connection if that one is lost.
template <class Use>
auto OnConnection(Pool& pool, locking::Deadline deadline, const Use& use) {
  return locking::RunUntilUnraced(
      deadline, [&](bool) { return WithoutDoubt([&] { return use(*pool.Take(deadline)); }); });
}

class PostgresqlDatabase final : public locking::Database {
 public:
  explicit PostgresqlDatabase(postgresql::Url url)
      : Database(locking::InChild::kRefused), pool_(std::make_unique<Pool>(std::move(url))) {
    schema_ = WithoutDoubt([&] { return postgresql::FindSchema(*pool_, In(kOpenTimeout)); });
  }
  ~PostgresqlDatabase() override {
    if (!IsForked()) {
      listener_->Close();
      return;
    }
    // The connections and the thread belong to the parent.
    static_cast<void>(new std::shared_ptr(std::move(listener_)));
    static_cast<void>(pool_.release());
  }

  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits;
    traits.lanes = kLanes;
    traits.reads_apart = true;
    traits.queues = true;
    traits.transactions = true;
    traits.native = NativeHandle::kPostgresql;
    return traits;
  }

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   milliseconds default_ttl) override {
    auto collection = std::make_shared<PostgresqlCollection>(name, fields, default_ttl, schema_);
    const auto deadline = In(kOpenTimeout);
    OnConnection(*pool_, deadline, [&](postgresql::Connection& connection) {
      postgresql::CreateTable(connection, schema_, *collection, deadline);
    });
    pool_->KnowTables(schema_);
    return collection;
  }

  std::unique_ptr<locking::Unit> Begin(locking::Access access,
                                       locking::Deadline deadline) override {
    return WithoutDoubt(
        [&] { return std::make_unique<PostgresqlUnit>(*pool_, access, deadline, instance_); });
  }

  [[nodiscard]] bool CanRun(rules::Plain kind) const noexcept override {
    return postgresql::UpdateOf(kind) != nullptr;
  }
  void RunPlain(std::span<const rules::PlainOp> ops, bool alone,
                locking::Deadline deadline) override {
    std::vector<postgresql::ShortCut> cuts;
    for (const rules::PlainOp& op : ops) {
      if (auto cut = postgresql::ShortCutOf(op)) cuts.push_back(*std::move(cut));
    }
    if (cuts.empty()) return;
    const bool renews = std::ranges::all_of(
        ops, [](const rules::PlainOp& op) { return op.kind == rules::Plain::kRenew; });
    if (renews) return TryRenewals(cuts, alone, deadline);
    const bool done = CarryOut(cuts, locking::Access::kBriefly, alone, deadline);
    StoreOp& first = *ops.front().op;
    if (!done && alone && first.if_kept == IfKept::kLeave) first.status = OpStatus::kKept;
  }

  /// Nothing behind a pooler that gives each transaction another session: waiters poll then.
  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override {
    if (pool_->shares_sessions()) return nullptr;
    return listener_->Watch(static_cast<PostgresqlCollection&>(collection).shared_from_this(),
                            std::move(listener));
  }

  [[nodiscard]] std::optional<std::vector<std::string>> ListCollections(
      locking::Deadline deadline) override {
    return OnConnection(*pool_, deadline, [&](postgresql::Connection& connection) {
      return postgresql::ListCollections(connection, schema_, deadline);
    });
  }

  [[nodiscard]] std::vector<Finding> Examine(Collection* collection,
                                             locking::Deadline deadline) override {
    std::optional<PostgresqlCollection> its;
    if (collection != nullptr) {
      its.emplace(collection->name(), collection->fields(), collection->default_ttl(), schema_);
    }
    return WithoutDoubt([&] {
      // One of the pool's would store the server's epoch.
      return postgresql::Examine(*pool_->Connect(deadline), schema_, its ? &*its : nullptr,
                                 deadline);
    });
  }

  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    if (index.held_locks) return;
    const IndexSpec spec = WithoutKey(index);
    if (spec.fields.empty()) return;  // keys have one
    WithoutDoubt([&] {
      const auto deadline = In(kIndexTimeout);
      postgresql::CreateIndex(*pool_->Take(deadline),
                              static_cast<PostgresqlCollection&>(collection), spec, deadline);
    });
  }

 private:
  using ShortCuts = std::span<postgresql::ShortCut>;

  /// Returns true; false if other transactions have locked a row or the table. @param alone is
  /// there only one operation?
  bool CarryOut(std::span<const postgresql::ShortCut> cuts, locking::Access access, bool alone,
                locking::Deadline deadline) {
    return WithoutDoubt(
        [&] { return PostgresqlUnit(*pool_, access, deadline, instance_).CarryOut(cuts, alone); });
  }

  /// In one batch for each collection: another transaction that keeps a table fails no lease of
  /// other tables.
  void TryRenewals(ShortCuts cuts, bool alone, locking::Deadline deadline) {
    const auto collection = [](const postgresql::ShortCut& cut) { return cut.op->collection; };
    std::ranges::stable_sort(cuts, {}, collection);
    while (!cuts.empty()) {
      const auto end = std::ranges::upper_bound(cuts, collection(cuts.front()), {}, collection);
      const ShortCuts some = cuts.first(static_cast<std::size_t>(end - cuts.begin()));
      cuts = cuts.subspan(some.size());
      if (CarryOut(some, locking::Access::kRenew, alone, deadline)) continue;
      for (const auto& cut : some) cut.op->Fail(Errc::kUnavailable, locking::kKeptText);
    }
  }

  const std::int64_t instance_ = postgresql::RandomNumber();
  std::unique_ptr<Pool> pool_;
  std::string schema_;
  std::shared_ptr<Listener> listener_ = std::make_shared<Listener>(*pool_, instance_);
};

}  // namespace

std::shared_ptr<Store> OpenPostgresqlStore(const std::string& url) {
  return OpenPostgresqlUrl(url, OpenMode::kAsTheUrlSays);
}

std::shared_ptr<Store> OpenPostgresqlUrl(std::string_view url, OpenMode mode) {
  return locking::StoreOn(
      std::make_unique<PostgresqlDatabase>(postgresql::ParseUrl(std::string(url))),
      mode == OpenMode::kAsTheUrlSays);
}

}  // namespace doclock
