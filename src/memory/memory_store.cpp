#include "doclock/open_store.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "document/collection.h"
#include "document/json/row_filter.h"
#include "document/watchers.h"
#include "locking/locking_store.h"
#include "memory/open_url.h"

/// @file
/// The smallest store, and the first one to read: all that src/locking asks of a database. A
/// `Database` opens collections and begins units. A `Unit` is one atomic step: it loads documents,
/// the rules (src/rules) decide what becomes of them, and it commits what was decided. It knows
/// nothing of what a lock means.
///
/// Here a unit holds the store's only mutex from its beginning until it has committed. So what it
/// has seen stays so, no unit races another one, and a commit cannot fail halfway. A database on
/// disk or on a server does the same by a transaction, row locks, or writes that are guarded by
/// what was loaded.

namespace doclock {
namespace {

using locking::Document;
using Fields = std::vector<std::string>;
using Entries = std::unordered_map<Key, locking::Entry>;

struct MemoryCollection : Collection {
  using Collection::Collection;

  Entries documents;
  std::vector<Fields> unique;  ///< The fields of each unique index.
  const std::shared_ptr<Watchers> watchers = std::make_shared<Watchers>();

  /// All documents, or the one with this key, if it is there.
  [[nodiscard]] auto Select(const std::optional<Key>& key) const {
    const auto [first, last] =
        key ? documents.equal_range(*key) : std::pair(documents.begin(), documents.end());
    return std::ranges::subrange(first, last);
  }
  /// Does another document repeat the values that this body has in a unique index?
  [[nodiscard]] bool HasRepeated(const Fields& fields, const Key& key, const Body& body) const {
    const auto values = UniqueValuesOf(fields, body);
    return values && std::ranges::any_of(documents, [&](const auto& other) {
             return other.first != key && Repeat(values, UniqueValuesOf(fields, other.second.body));
           });
  }
};

MemoryCollection& Ours(Collection& collection) noexcept {
  return static_cast<MemoryCollection&>(collection);
}

class MemoryUnit final : public locking::Unit {
 public:
  MemoryUnit(std::mutex& mutex, const Clock& clock, locking::Access access)
      : clock_(clock),
        all_or_none_(access == locking::Access::kWriteAll),
        guard_(mutex),
        now_(clock.Now()) {}

  TimePoint Now() override { return now_; }
  std::optional<std::chrono::system_clock::time_point> WallTime() override {
    return clock_.WallTime();
  }

  void Load(std::span<Document> documents) override {
    for (Document& document : documents) {
      const auto found = Ours(*document.asked.collection).Select(*document.asked.key);
      document.loaded.entry = found.empty() ? nullptr : &found.front().second;
    }
  }

  void Scan(Collection& collection, const Filter& filter,
            const std::function<bool(QueryRow&&)>& visit) override {
    const auto scan = [&](FirstRows& rows) {
      for (const auto& [key, entry] : Ours(collection).Select(EqualKey(filter))) {
        const rules::LockState& lock = entry.lock;
        rows.Show({key, entry.body, lock.version, lock.born, lock.IsLive(now_)});
      }
    };
    VisitInOrder(filter, kPageRows, scan, visit);
  }

  std::string ScanLocks(Collection& collection, const LockQuery& query, const std::string&,
                        const std::function<bool(locking::Candidate&&)>& visit) override {
    for (const auto& [key, entry] : Ours(collection).Select(query.key)) {
      const bool asked_for = query.unheld || entry.lock.HasLockId();
      if (asked_for && !visit({key, entry.lock, !TreeOf(entry.body).empty()})) break;
    }
    return {};
  }

  void Commit(std::span<Document> documents) override {
    Steps steps;
    for (Document& document : documents) {
      if (!document.IsDecided()) continue;
      if (const Fields* const index = FindRefusing(document)) {
        document.outcome.RefuseBy(FieldList(*index));
        if (all_or_none_) return;
      } else {
        steps.made.emplace_back(document);
      }
    }
    const std::vector<Step> done = std::move(steps.made);  // destroyed when others may go on
    guard_.unlock();
    for (const Step& step : done) step.document->outcome.status = OpStatus::kDone;
    for (const Step& step : done) {
      if (step.document->decision.notice == locking::Notice::kWaiters)
        step.ours().watchers->Tell(step.document->Hint());
    }
  }

 private:
  /// A decided document that is stored now. What was there before is kept here, or where the
  /// decision was.
  class Step {
   public:
    explicit Step(Document& of) : document(&of) {
      if (of.decision.erased) {
        erased_ = entries().extract(*of.asked.key);
        return;
      }
      const auto [place, is_new] = entries().try_emplace(*of.asked.key);
      is_new_ = is_new;
      std::swap(place->second, *of.decision.entry);
    }
    void TakeBack() noexcept {
      if (erased_) {
        entries().insert(std::move(erased_));
      } else if (is_new_) {
        entries().erase(*document->asked.key);
      } else {
        std::swap(entries().find(*document->asked.key)->second, *document->decision.entry);
      }
    }
    [[nodiscard]] MemoryCollection& ours() const noexcept {
      return Ours(*document->asked.collection);
    }

    Document* document;

   private:
    [[nodiscard]] Entries& entries() const noexcept { return ours().documents; }

    Entries::node_type erased_;
    bool is_new_ = false;
  };
  /// The steps of one commit; they are taken back unless they are moved away.
  struct Steps {
    ~Steps() {
      for (Step& step : made | std::views::reverse) step.TakeBack();
    }
    std::vector<Step> made;
  };

  /// Returns the unique index that refuses what was decided; null: none does.
  static const Fields* FindRefusing(const Document& document) {
    const locking::Decision& decision = document.decision;
    const locking::Entry* const was = document.loaded.entry;
    if (decision.erased || (was != nullptr && decision.entry->body.IsSameAs(was->body)))
      return nullptr;
    const MemoryCollection& ours = Ours(*document.asked.collection);
    const auto found = std::ranges::find_if(ours.unique, [&](const Fields& fields) {
      return ours.HasRepeated(fields, *document.asked.key, decision.entry->body);
    });
    return found == ours.unique.end() ? nullptr : &*found;
  }

  const Clock& clock_;
  const bool all_or_none_;
  std::unique_lock<std::mutex> guard_;
  const TimePoint now_;
};

class MemoryDatabase final : public locking::Database {
 public:
  explicit MemoryDatabase(std::shared_ptr<const Clock> clock) : clock_(std::move(clock)) {}

  [[nodiscard]] StoreTraits traits() const noexcept override {
    return {.immediate = true,
            .shared = false,
            .others_may_wait = false,
            .queues = true,
            .transactions = true};
  }

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl) override {
    auto collection = std::make_shared<MemoryCollection>(name, fields, default_ttl);
    const std::lock_guard guard(mutex_);
    names_.push_back(name);
    return collection;
  }

  std::unique_ptr<locking::Unit> Begin(locking::Access access, locking::Deadline) override {
    return std::make_unique<MemoryUnit>(mutex_, *clock_, access);
  }

  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override {
    return Ours(collection).watchers->Add(std::move(listener));
  }

  /// Searches look at each document, so only a unique index is one.
  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    if (index.held_locks || !WithoutKey(index).unique) return;
    MemoryCollection& ours = Ours(collection);
    const std::lock_guard guard(mutex_);
    if (std::ranges::find(ours.unique, index.fields) != ours.unique.end()) return;
    for (const auto& [key, entry] : ours.documents) {
      if (ours.HasRepeated(index.fields, key, entry.body)) ThrowRepeatedValues(index.fields);
    }
    ours.unique.push_back(index.fields);
  }

  [[nodiscard]] std::optional<std::vector<std::string>> ListCollections(
      locking::Deadline) override {
    const std::lock_guard guard(mutex_);
    return names_;
  }

 private:
  const std::shared_ptr<const Clock> clock_;
  std::mutex mutex_;                ///< Guards the names, and all documents and indexes.
  std::vector<std::string> names_;  ///< The collections' names.
};

}  // namespace

std::shared_ptr<Store> OpenMemoryStore(MemoryStoreOptions options) {
  if (!options.clock) options.clock = SystemClock();
  return locking::StoreOn(std::make_unique<MemoryDatabase>(std::move(options.clock)));
}

std::shared_ptr<Store> OpenMemoryUrl(std::string_view url, OpenMode) {
  if (url != "memory:") {
    throw std::invalid_argument("doclock: the URL memory: takes no path and no options");
  }
  return OpenMemoryStore();
}

}  // namespace doclock
