#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "doclock/filter.h"
#include "doclock/store.h"
#include "memory/document.h"

namespace doclock::memory {

/// The values that one index holds of one document. Shared, so that a thread which walks an index
/// may keep entries after it has released the mutex.
struct IndexEntry {
  std::vector<nlohmann::json> values;
  Key key;
  std::size_t hash = 0;
};

/// How one index answers one filter: the range of its entries, in the filter's order.
struct IndexPlan {
  std::size_t index = 0;
  std::vector<nlohmann::json> prefix;        ///< The leading fields equal these.
  const nlohmann::json* at_least = nullptr;  ///< Of the last field; points into the filter.
  const nlohmann::json* at_most = nullptr;   ///< As above.
  bool descending = false;
  EntryPtr after;  ///< Only entries behind this one; null: all.
};

/// The indexes of one collection. Thread-safe; taken after a shard's mutex, never before one.
class Indexes {
 public:
  /// Adds an index over these documents, which no other thread may use meanwhile, unless it exists.
  /// @throws ConflictException if it must be unique and is not; std::invalid_argument for a bad
  /// field.
  void Build(const IndexSpec& spec, const std::vector<Document*>& documents);

  /// The document is about to have this body. Returns the unique index that refuses it; then
  /// nothing has changed.
  std::optional<std::string> Put(Document& document, const Body& body);
  /// The document is about to be erased.
  void Remove(Document& document) noexcept;

  /// Changes of the entries of several documents; see below.
  class Changes;

  /// The index that gives the filter's documents in its order, if there is one.
  [[nodiscard]] std::optional<IndexPlan> PlanFor(const Filter& filter) const;
  /// Up to `count` entries of the plan behind `position` (null: from the first one).
  [[nodiscard]] std::vector<EntryPtr> Next(const IndexPlan& plan, const EntryPtr& position,
                                           std::size_t count) const;

 private:
  /// Some leading values, and perhaps a key behind them.
  struct Probe {
    const std::vector<nlohmann::json>& values;
    const nlohmann::json* next = nullptr;  // one value more
    bool after = false;                    // behind all entries with these values, not before them
  };
  struct Less {
    using is_transparent = void;
    bool operator()(const EntryPtr& a, const EntryPtr& b) const noexcept;
    bool operator()(const EntryPtr& a, const Probe& b) const noexcept;
    bool operator()(const Probe& a, const EntryPtr& b) const noexcept;
  };
  using Entries = std::set<EntryPtr, Less>;
  struct Index {
    std::string name;
    std::vector<std::string> fields;  // "a,b" may be one field or two
    std::vector<std::vector<std::string>> paths;
    bool unique = false;
    Entries entries;
  };
  class Walk;

  static EntryPtr MakeEntry(const Index& index, const Document& document, const Body& body);
  static bool Refuses(const Index& index, const IndexEntry& entry);
  static std::optional<IndexPlan> PlanWith(const Index& index, const Filter& filter);

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Index>> indexes_;
};

/// What several documents are about to be, in this order: a value that one gives up may be taken by
/// the next. Keeps other threads from the indexes. Taken back when it is destroyed, without an
/// allocation, unless Keep was called.
class Indexes::Changes {
 public:
  explicit Changes(Indexes& indexes) : indexes_(indexes), guard_(indexes.mutex_) {}
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;
  ~Changes();

  /// The document, which is not among those before, is about to have this body. Returns the unique
  /// index that refuses it; then all has to be taken back.
  std::optional<std::string> Put(Document& document, const Body& body);
  /// The document is about to be erased.
  void Remove(Document& document);
  void Keep() noexcept;

 private:
  /// One entry of a document.
  struct Step {
    Document* document;
    std::size_t index;
    Entries::node_type former;
    EntryPtr entry;  ///< Its new one; null: none.
    bool inserted = false;
  };
  /// Takes the document's entry out of one index.
  Step& Take(Document& document, std::size_t index);

  Indexes& indexes_;
  const std::lock_guard<std::mutex> guard_;
  std::vector<Step> steps_;
};

}  // namespace doclock::memory
