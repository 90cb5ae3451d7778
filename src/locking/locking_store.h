#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "doclock/export.h"
#include "doclock/store/store.h"
#include "document/collection.h"
#include "locking/database.h"

namespace doclock::locking {

/// The collections of one store that are open, by their names. Thread-safe.
class OpenCollections {
 public:
  /// The open collection of this name; otherwise the one that `make` returns. @throws
  /// std::invalid_argument: see CheckSameCollection
  template <class Make>
  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl, const Make& make) {
    if (auto open = FindSame(name, fields, default_ttl)) return open;
    const std::lock_guard one_by_one(making_);
    if (auto open = FindSame(name, fields, default_ttl)) return open;
    std::shared_ptr<Collection> made = make();
    const std::lock_guard guard(mutex_);
    return all_.emplace(name, std::move(made)).first->second;
  }

  /// Null: it is not open.
  [[nodiscard]] std::shared_ptr<Collection> Find(const std::string& name) const {
    const std::lock_guard guard(mutex_);
    const auto found = all_.find(name);
    return found == all_.end() ? nullptr : found->second;
  }

 private:
  std::shared_ptr<Collection> FindSame(const std::string& name, const LockFieldNames& fields,
                                       std::chrono::milliseconds default_ttl) const {
    auto open = Find(name);
    if (open) CheckSameCollection(*open, fields, default_ttl);
    return open;
  }

  std::mutex making_;  ///< Held while `make` runs, which may take long. Only its holder adds.
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Collection>> all_;
};

/// The store over a database: each of its functions stands once, here, over the rules. A store that
/// carries some of them out in its own way overrides these.
class DOCLOCK_EXPORT LockingStore : public Store {
 public:
  /// @param creates does Open create what is missing? (See OpenMode.)
  explicit LockingStore(std::unique_ptr<Database> database, bool creates = true);
  ~LockingStore() override;

  [[nodiscard]] StoreTraits traits() const noexcept override { return database_->traits(); }
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
  std::chrono::system_clock::time_point WallTime(std::chrono::milliseconds budget) override;
  std::int64_t Purge(Collection& collection, std::int64_t limit,
                     std::chrono::milliseconds budget) override;
  [[nodiscard]] LockPage ListLocks(Collection& collection, const LockQuery& query,
                                   const std::string& after,
                                   std::chrono::milliseconds budget) override;
  [[nodiscard]] std::vector<std::string> ListCollections(std::chrono::milliseconds budget) override;
  [[nodiscard]] std::vector<Finding> Examine(Collection* collection,
                                             std::chrono::milliseconds budget) override;

  void EnsureIndex(Collection& collection, const IndexSpec& index) override;
  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override;

 protected:
  /// Fails the operations in a child that may not use the database. Returns whether it did.
  bool Refuses(std::span<StoreOp* const> ops) const;
  /// The end of a budget that begins now.
  [[nodiscard]] static Deadline In(std::chrono::milliseconds budget);
  [[nodiscard]] Database& database() const noexcept { return *database_; }

 private:
  /// @throws NotFoundException
  void RequireThere(const std::string& collection) const;
  /// For what throws: the same, and errors as the database tells them.
  template <class F>
  auto Call(const F& call) const;

  const std::unique_ptr<Database> database_;
  const bool creates_;
  OpenCollections collections_;
};

/// That store.
DOCLOCK_EXPORT std::shared_ptr<Store> StoreOn(std::unique_ptr<Database> database,
                                              bool creates = true);

}  // namespace doclock::locking
