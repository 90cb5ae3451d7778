#pragma once

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conformance/suite/store_conformance.h"
#include "document/json/row_filter.h"
#include "locking/database.h"
#include "locking/locking_store.h"

namespace doclock::locking {

/// What a database holds, and whom it meets.
struct Shelf {
  std::map<Key, Entry> entries;
  int races = 0;                   ///< So many commits race from now on.
  std::optional<int> loses_after;  ///< The next scan is Raced behind so many documents.
  std::set<Key> held;              ///< Another client's transaction keeps these,
  const Collection* held_collection = nullptr;  ///< and all of these.
  std::vector<Access> access;                   ///< Of each unit.
  std::vector<std::size_t> units;               ///< How many documents each unit has loaded.
  std::vector<Key> loaded;                      ///< By the last unit, in its order.
  std::vector<Deadline> deadlines;              ///< Of each unit.
  std::vector<Deadline> patience;               ///< Of each document that was loaded alone.
  std::exception_ptr failure;                   ///< Commits fail so.
};

class ShelfUnit final : public Unit {
 public:
  explicit ShelfUnit(Shelf& shelf) : shelf_(shelf) {}

  TimePoint Now() override { return TimePoint(std::chrono::hours(1)); }
  void Load(std::span<Document> documents) override {
    shelf_.units.push_back(documents.size());
    shelf_.loaded.clear();
    if (documents.size() == 1) shelf_.patience.push_back(documents.front().asked.patience);
    for (const Document& document : documents) shelf_.loaded.push_back(*document.asked.key);
    for (Document& document : documents) {
      const bool is_held = shelf_.held.contains(*document.asked.key);
      if (is_held && document.asked.alone) throw Kept();
      if (document.asked.collection == shelf_.held_collection) throw Kept();
      document.loaded.blocked = is_held;
      const auto entry = shelf_.entries.find(*document.asked.key);
      if (!is_held && entry != shelf_.entries.end()) document.loaded.entry = &entry->second;
    }
  }
  void Scan(Collection&, const Filter& filter,
            const std::function<bool(QueryRow&&)>& visit) override {
    for (const auto& [key, entry] : shelf_.entries) {
      Lose();
      const bool locked = entry.lock.IsLive(Now());
      if (!StateMatches(filter, locked)) continue;
      if (!visit({key, entry.body, entry.lock.version, entry.lock.born, locked})) return;
    }
  }
  std::string ScanLocks(Collection&, const LockQuery&, const std::string&,
                        const std::function<bool(Candidate&&)>& visit) override {
    for (const auto& [key, entry] : shelf_.entries) {
      Lose();
      if (!visit({key, entry.lock, true, false})) break;
    }
    return {};
  }
  void* Native() override { return &shelf_; }
  void Commit(std::span<Document> documents) override {
    if (shelf_.races > 0) {
      --shelf_.races;
      throw Raced();
    }
    if (shelf_.failure) std::rethrow_exception(shelf_.failure);
    for (Document& document : documents) {
      if (!document.IsDecided()) continue;
      document.outcome.status = OpStatus::kDone;
      document.decision.erased
          ? void(shelf_.entries.erase(*document.asked.key))
          : void(shelf_.entries.insert_or_assign(*document.asked.key, *document.decision.entry));
    }
  }

 private:
  void Lose() {
    if (!shelf_.loses_after || (*shelf_.loses_after)-- > 0) return;
    shelf_.loses_after.reset();
    throw Raced();
  }

  Shelf& shelf_;
};

class ShelfDatabase final : public Database {
 public:
  explicit ShelfDatabase(Shelf& shelf) : shelf_(shelf) {}

  [[nodiscard]] StoreTraits traits() const noexcept override {
    StoreTraits traits;
    traits.transactions = true;
    return traits;
  }
  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl) override {
    return std::make_shared<Collection>(name, fields, default_ttl);
  }
  std::unique_ptr<Unit> Begin(Access access, Deadline deadline) override {
    shelf_.access.push_back(access);
    shelf_.deadlines.push_back(deadline);
    return std::make_unique<ShelfUnit>(shelf_);
  }
  std::unique_ptr<Subscription> Watch(Collection&, HintListener) override { return nullptr; }
  void EnsureIndex(Collection&, const IndexSpec&) override {}

 private:
  Shelf& shelf_;
};

using conformance::Client;
using conformance::FreshId;
using conformance::kBudget;
using conformance::kTtl;
using conformance::MakeBody;

/// Of calls that use it up.
inline constexpr std::chrono::milliseconds kShortBudget{20};

class ShelfTest : public ::testing::Test {
 protected:
  SaveOp Insert(const Key& key) { return things_.InsertOf(key, {{"n", 1}}); }

  Shelf shelf_;
  const std::shared_ptr<Store> store_ = StoreOn(std::make_unique<ShelfDatabase>(shelf_));
  Client things_{store_};
  const Key a_ = "a", b_ = "b", c_ = "c";
};

}  // namespace doclock::locking
