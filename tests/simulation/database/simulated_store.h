#pragma once

#include <map>
#include <memory>
#include <string>

#include "doclock/store/store.h"
#include "simulation/database/network.h"

namespace doclock::simulation {

/// The database as one process sees it: requests over the network, and a time to wait for their
/// replies. Calls stop the thread (fiber) that makes them.
class SimulatedStore : public Store {
 public:
  SimulatedStore(Process& process, Network& network, Database& database)
      : process_(process), network_(network), database_(database) {}

  /// The program was killed: no request of it is sent any more, and no reply reaches it.
  void Kill() noexcept { killed_ = true; }

  [[nodiscard]] StoreTraits traits() const noexcept override;
  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl) override;
  [[nodiscard]] std::shared_ptr<Collection> Find(const std::string& name) const override;
  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override;
  void Commit(CommitOp& commit, std::chrono::milliseconds budget) override;
  void ReadTogether(std::span<StoreOp* const> reads, std::chrono::milliseconds budget) override;
  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink,
             std::chrono::milliseconds budget) override;
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                   std::chrono::milliseconds budget) override;
  void EnsureIndex(Collection&, const IndexSpec&) override {}
  std::int64_t Purge(Collection& collection, std::int64_t limit,
                     std::chrono::milliseconds budget) override;
  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override;
  [[nodiscard]] LockPage ListLocks(Collection& collection, const LockQuery& query,
                                   const std::string& after,
                                   std::chrono::milliseconds budget) override;

 private:
  struct Batch;
  struct Search;
  /// Copies of operations, for the database.
  std::shared_ptr<Batch> CopyOf(std::span<StoreOp* const> ops);
  /// Sends a request and waits for its reply; false: there was none in time.
  bool Ask(std::string subject, bool repeatable, std::function<bool(Primary&)> serve,
           std::chrono::milliseconds budget);
  /// The same; throws if there was none.
  void AskOrThrow(std::string subject, std::function<bool(Primary&)> serve,
                  std::chrono::milliseconds budget);
  Collection& AtDatabase(const Collection& collection);

  Process& process_;
  Network& network_;
  Database& database_;
  bool killed_ = false;
  std::map<std::string, std::shared_ptr<Collection>> collections_;
};

}  // namespace doclock::simulation
