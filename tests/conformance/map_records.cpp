#include "conformance/map_records.h"

#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace doclock::conformance {
namespace {

using Turn = std::unique_lock<std::timed_mutex>;

Turn TakeTurn(std::timed_mutex& mutex, std::chrono::milliseconds budget) {
  Turn turn(mutex, budget);
  if (!turn) throw StoreException(Errc::kUnavailable, "the shelf is in use");
  return turn;
}

/// Keeps changes aside, and puts them in place at the end.
class MapTransaction final : public RecordStore::Transaction {
 public:
  MapTransaction(std::shared_ptr<Shelf> shelf, Excludes excludes, std::chrono::milliseconds budget,
                 Turn turn)
      : shelf_(std::move(shelf)), excludes_(excludes), budget_(budget), turn_(std::move(turn)) {}

  std::optional<Record> Load(const std::string& collection, const Key& key) override {
    std::optional<Record> found = Find(collection, key);
    if (excludes_ == Excludes::kOfFoundRows && found) {
      if (!turn_) turn_ = TakeTurn(shelf_->turn, budget_);
      return Find(collection, key);
    }
    return found;
  }
  void Scan(const std::string& collection,
            const std::function<bool(const Key&, Record&&)>& visit) override {
    std::map<Key, Record> records = [&] {
      const std::lock_guard guard(shelf_->mutex);
      return shelf_->records[collection];
    }();
    for (auto& [key, record] : records) {
      if (!visit(key, std::move(record))) return;
    }
  }
  void Put(const std::string& collection, const Key& key, const Record& record) override {
    changes_.push_back({collection, key, record});
  }
  void Erase(const std::string& collection, const Key& key) override {
    changes_.push_back({collection, key, std::nullopt});
  }
  Json Settings(const std::string& collection) override {
    const std::lock_guard guard(shelf_->mutex);
    return shelf_->settings[collection];
  }
  void PutSettings(const std::string& collection, const Json& settings) override {
    settings_[collection] = settings;
  }
  void Commit() override {
    const bool alone =
        excludes_ == Excludes::kAll || (excludes_ == Excludes::kOfFoundRows && turn_);
    if (!alone) shelf_->rendezvous.Wait();
    const std::lock_guard guard(shelf_->mutex);
    for (const Change& change : changes_) {
      std::map<Key, Record>& records = shelf_->records[change.collection];
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

  std::optional<Record> Find(const std::string& collection, const Key& key) {
    const std::lock_guard guard(shelf_->mutex);
    const std::map<Key, Record>& records = shelf_->records[collection];
    const auto found = records.find(key);
    return found == records.end() ? std::nullopt : std::optional(found->second);
  }

  std::shared_ptr<Shelf> shelf_;
  const Excludes excludes_;
  const std::chrono::milliseconds budget_;
  Turn turn_;
  std::vector<Change> changes_;
  std::map<std::string, Json> settings_;
};

class MapRecords final : public RecordStore {
 public:
  MapRecords(std::shared_ptr<Shelf> shelf, std::shared_ptr<const Clock> clock, Excludes excludes,
             bool shared)
      : shelf_(std::move(shelf)), clock_(std::move(clock)), excludes_(excludes), shared_(shared) {}

  std::unique_ptr<Transaction> Begin(Access, std::chrono::milliseconds budget) override {
    Turn turn;
    if (excludes_ == Excludes::kAll) turn = TakeTurn(shelf_->turn, budget);
    if (excludes_ == Excludes::kOfOneStore) turn = TakeTurn(own_turn_, budget);
    return std::make_unique<MapTransaction>(shelf_, excludes_, budget, std::move(turn));
  }
  void Create(const std::string&) override {}
  [[nodiscard]] TimePoint Now() const noexcept override { return clock_->Now(); }
  [[nodiscard]] std::chrono::system_clock::time_point WallTime() const noexcept override {
    return clock_->WallTime();
  }
  [[nodiscard]] bool IsShared() const noexcept override { return shared_; }

 private:
  std::shared_ptr<Shelf> shelf_;
  std::shared_ptr<const Clock> clock_;
  const Excludes excludes_;
  const bool shared_;
  std::timed_mutex own_turn_;
};

}  // namespace

void Rendezvous::Wait() {
  const int mine = ++came_;
  for (int i = 0; i < 20 && came_ == mine; ++i) std::this_thread::sleep_for(100us);
}

std::shared_ptr<RecordStore> MakeMapRecords(std::shared_ptr<Shelf> shelf,
                                            std::shared_ptr<const Clock> clock, Excludes excludes,
                                            bool shared) {
  return std::make_shared<MapRecords>(std::move(shelf), std::move(clock), excludes, shared);
}

}  // namespace doclock::conformance
