#include "conformance/map_records.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "document/json/row_filter.h"
#include "records/hint_text.h"

namespace doclock::conformance {
namespace {

using Turn = std::unique_lock<std::timed_mutex>;

/// Settings stand for a collection of their own.
std::string SettingsOf(const std::string& collection) { return "settings of " + collection; }

bool IsOptimistic(Excludes excludes) {
  return excludes == Excludes::kNoneButRaces || excludes == Excludes::kNoneButRacesOfRecords;
}

bool ByKeys(Excludes excludes) {
  return excludes == Excludes::kOfSameKeys || excludes == Excludes::kOfKeysAlone ||
         excludes == Excludes::kOfCollectionsApart || excludes == Excludes::kOfStaleKeys ||
         IsOptimistic(excludes);
}

/// So long a transaction that others may wait for waits for them.
constexpr std::chrono::milliseconds kPatience{20};

Turn TakeTurn(std::timed_mutex& mutex, std::chrono::milliseconds budget) {
  Turn turn(mutex, budget);
  if (!turn) throw StoreException(Errc::kUnavailable, "the shelf is in use");
  return turn;
}

/// Keeps changes aside, and puts them in place at the end.
class MapTransaction final : public RecordStore::Transaction {
 public:
  MapTransaction(std::shared_ptr<Shelf> shelf, const Clock& clock, Excludes excludes, bool writes,
                 std::chrono::milliseconds budget, Turn turn)
      : shelf_(std::move(shelf)),
        clock_(clock),
        excludes_(excludes),
        writes_(writes),
        budget_(budget),
        turn_(std::move(turn)) {
    const std::lock_guard guard(shelf_->mutex);
    began_behind_ = shelf_->commits;
    if (excludes_ == Excludes::kOfStaleKeys) snapshot_ = shelf_->records;
  }
  MapTransaction(const MapTransaction&) = delete;
  MapTransaction& operator=(const MapTransaction&) = delete;
  ~MapTransaction() override {
    {
      const std::lock_guard guard(shelf_->mutex);
      scanned_.reset();
      snapshot_.reset();
    }
    shelf_->locks.Remove(held_);
  }

  std::vector<std::optional<Record>> Load(std::span<const RecordKey> keys) override {
    ++shelf_->loads;
    std::vector<std::optional<Record>> records;
    for (const auto& [collection, key] : keys) {
      if (writes_ && ByKeys(excludes_)) Lock(collection, key);
      records.push_back(Find(collection, key));
      if (excludes_ != Excludes::kOfFoundRows || !records.back()) continue;
      if (!turn_) turn_ = TakeTurn(shelf_->turn, budget_);
      records.back() = Find(collection, key);
    }
    return records;
  }
  void LockCollection(const std::string& collection) override {
    if (!ByKeys(excludes_) || excludes_ == Excludes::kOfKeysAlone) return;
    const bool apart = excludes_ == Excludes::kOfCollectionsApart;
    Lock(apart ? "all of " + collection : collection, std::nullopt);
  }
  void Scan(const std::string& collection, const Filter& filter,
            const std::function<bool(const Key&, Record&&)>& visit) override {
    {
      const std::lock_guard guard(shelf_->mutex);
      scanned_ = Records(collection);
    }
    scans_ = true;
    for (const auto& [key, record] : *scanned_) {
      if (!Matches(filter, key, record.body)) continue;
      ++shelf_->shown;
      if (!visit(key, Record(record))) break;
    }
    scans_ = false;
  }
  RecordTime Now() override {
    if (scans_) throw std::logic_error("the transaction is used while it scans");
    return {clock_.Now(), clock_.WallTime()};
  }
  void Put(const std::string& collection, const Key& key, const Record& record) override {
    changes_.push_back({collection, key, record});
  }
  void Erase(const std::string& collection, const Key& key) override {
    changes_.push_back({collection, key, std::nullopt});
  }
  Json Settings(const std::string& collection) override {
    if (excludes_ == Excludes::kNoneButRaces) Lock(SettingsOf(collection), std::nullopt);
    const std::lock_guard guard(shelf_->mutex);
    return shelf_->settings[collection];
  }
  void PutSettings(const std::string& collection, const Json& settings) override {
    settings_[collection] = settings;
  }
  void Commit() override {
    const bool alone = excludes_ == Excludes::kAll || excludes_ == Excludes::kNoneButRaces ||
                       excludes_ == Excludes::kOfSameKeys ||
                       (excludes_ == Excludes::kOfFoundRows && turn_);
    if (!alone) shelf_->rendezvous.Wait();
    const std::lock_guard guard(shelf_->mutex);
    if (IsOptimistic(excludes_)) CheckAndCount();
    scanned_.reset();
    for (const Change& change : changes_) {
      Shelf::Records& records = shelf_->RecordsToChange(change.collection);
      if (change.record) {
        records[change.key] = *change.record;
      } else {
        records.erase(change.key);
      }
    }
    for (const auto& [collection, settings] : settings_) shelf_->settings[collection] = settings;
  }

 private:
  struct Change {
    std::string collection;
    Key key;
    std::optional<Record> record;  ///< None: it goes.
  };

  void Lock(const std::string& collection, const std::optional<Key>& key) {
    if (IsOptimistic(excludes_)) {
      held_.emplace(collection, key);
    } else {
      shelf_->locks.Add(held_, collection, key, budget_);
    }
  }
  /// With the shelf's mutex.
  void CheckAndCount() {
    for (const auto& shown : held_) {
      if (shelf_->changed[shown] > began_behind_) throw RacedException();
    }
    const int commit = ++shelf_->commits;
    for (const Change& change : changes_) {
      shelf_->changed[{change.collection, change.key}] = commit;
      shelf_->changed[{change.collection, std::nullopt}] = commit;
    }
    for (const auto& [collection, settings] : settings_) {
      shelf_->changed[{SettingsOf(collection), std::nullopt}] = commit;
    }
  }
  /// One that only reads shows all as it was when it first looked. With the shelf's mutex.
  const std::shared_ptr<Shelf::Records>& Records(const std::string& collection) {
    if (!snapshot_ && (writes_ || !ByKeys(excludes_))) return shelf_->records.at(collection);
    if (!snapshot_) snapshot_ = shelf_->records;
    return snapshot_->at(collection);
  }
  std::optional<Record> Find(const std::string& collection, const Key& key) {
    const std::lock_guard guard(shelf_->mutex);
    const Shelf::Records& records = *Records(collection);
    const auto found = records.find(key);
    return found == records.end() ? std::nullopt : std::optional(found->second);
  }

  const std::shared_ptr<Shelf> shelf_;
  const Clock& clock_;
  const Excludes excludes_;
  const bool writes_;
  const std::chrono::milliseconds budget_;
  Turn turn_;
  KeyLocks::Held held_;   ///< Or what it was shown, if that is not locked.
  int began_behind_ = 0;  ///< Which commit.
  bool scans_ = false;
  std::optional<decltype(Shelf::records)> snapshot_;
  std::shared_ptr<const Shelf::Records> scanned_;
  std::vector<Change> changes_;
  std::map<std::string, Json> settings_;
};

/// A subscription that goes on beyond its end.
class EarlyEnd final : public Subscription {
 public:
  EarlyEnd(std::shared_ptr<Shelf> shelf, std::unique_ptr<Subscription> watch)
      : shelf_(std::move(shelf)), watch_(std::move(watch)) {}
  EarlyEnd(const EarlyEnd&) = delete;
  EarlyEnd& operator=(const EarlyEnd&) = delete;
  ~EarlyEnd() override {
    const std::lock_guard guard(shelf_->mutex);
    shelf_->ended_early.push_back(std::move(watch_));
  }

 private:
  const std::shared_ptr<Shelf> shelf_;
  std::unique_ptr<Subscription> watch_;
};

class MapRecords final : public RecordStore {
 public:
  MapRecords(std::shared_ptr<Shelf> shelf, std::shared_ptr<const Clock> clock, Excludes excludes,
             bool shared)
      : shelf_(std::move(shelf)), clock_(std::move(clock)), excludes_(excludes), shared_(shared) {}

  [[nodiscard]] RecordTraits traits() const noexcept override {
    const bool by_keys = ByKeys(excludes_);
    return {.shared = shared_, .tells = by_keys, .lanes = by_keys ? 4 : 1};
  }
  std::unique_ptr<Transaction> Begin(Access access, std::chrono::milliseconds budget) override {
    Turn turn;
    if (excludes_ == Excludes::kAll) turn = TakeTurn(shelf_->turn, budget);
    if (excludes_ == Excludes::kOfOneStore) turn = TakeTurn(own_turn_, budget);
    return std::make_unique<MapTransaction>(shelf_, *clock_, excludes_, access == Access::kWrite,
                                            budget, std::move(turn));
  }
  void Create(const std::string& collection) override {
    const std::lock_guard guard(shelf_->mutex);
    shelf_->records.try_emplace(collection, std::make_shared<Shelf::Records>());
  }
  void Tell(const std::string& collection, std::span<const std::string> hints) override {
    for (const std::string& hint : hints) {
      WatchersOf(collection)->Tell(records::HintFromText(hint));
    }
  }
  std::unique_ptr<Subscription> Watch(
      const std::string& collection,
      std::function<void(const std::string& hint)> listener) override {
    auto watch =
        WatchersOf(collection)->Add([listener = std::move(listener)](const LockHint& hint) {
          listener(hint.hash ? records::HintToText(hint) : "");
        });
    if (shelf_->hint_fault != HintFault::kEarlyEnd) return watch;
    return std::make_unique<EarlyEnd>(shelf_, std::move(watch));
  }

 private:
  std::shared_ptr<Watchers> WatchersOf(const std::string& collection) {
    const std::lock_guard guard(shelf_->mutex);
    auto& watchers = shelf_->watchers[collection];
    if (!watchers) watchers = std::make_shared<Watchers>();
    return watchers;
  }

  std::shared_ptr<Shelf> shelf_;
  std::shared_ptr<const Clock> clock_;
  const Excludes excludes_;
  const bool shared_;
  std::timed_mutex own_turn_;
};

}  // namespace

void Shelf::LoseHints() {
  if (hint_fault == HintFault::kSilentGap) return;
  const auto told = [this] {
    const std::lock_guard guard(mutex);
    return watchers;
  }();
  for (const auto& [collection, of_it] : told) of_it->Tell({});
}

Shelf::Records& Shelf::RecordsToChange(const std::string& collection) {
  std::shared_ptr<Records>& of_it = records.at(collection);
  if (of_it.use_count() > 1) of_it = std::make_shared<Records>(*of_it);
  return *of_it;
}

void Rendezvous::Wait() {
  const int mine = ++came_;
  for (int i = 0; i < 20 && came_ == mine; ++i) std::this_thread::sleep_for(100us);
}

void KeyLocks::Add(Held& held, const std::string& collection, const std::optional<Key>& key,
                   std::chrono::milliseconds budget) {
  std::unique_lock lock(mutex_);
  const auto is_free = [&] { return IsFree(held, collection, key); };
  if (!freed_.wait_for(lock, held.empty() ? budget : std::min(budget, kPatience), is_free)) {
    if (held.empty()) throw StoreException(Errc::kUnavailable, "the key is in use");
    throw RacedException("the key stays in use");
  }
  if (held.emplace(collection, key).second) all_.emplace(collection, key);
}

bool KeyLocks::IsFree(const Held& held, const std::string& collection,
                      const std::optional<Key>& key) const {
  return std::none_of(all_.begin(), all_.end(), [&](const auto& other) {
    const bool meets = other.first == collection && (!key || !other.second || other.second == key);
    return meets && held.count(other) == 0;
  });
}

void KeyLocks::Remove(const Held& held) {
  const std::lock_guard guard(mutex_);
  for (const auto& one : held) all_.erase(one);
  freed_.notify_all();
}

std::shared_ptr<RecordStore> MakeMapRecords(std::shared_ptr<Shelf> shelf,
                                            std::shared_ptr<const Clock> clock, Excludes excludes,
                                            bool shared) {
  return std::make_shared<MapRecords>(std::move(shelf), std::move(clock), excludes, shared);
}

}  // namespace doclock::conformance
