#include "conformance/record_backend.h"

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "doclock/store/record_store.h"

namespace doclock::conformance {
namespace {

/// The state that all stores over the same records share.
struct Shelf {
  std::timed_mutex mutex;
  std::map<std::string, std::map<Key, Record>> records;
  std::map<std::string, Json> settings;
};

/// Keeps changes aside, and puts them in place at the end.
class MapTransaction final : public RecordStore::Transaction {
 public:
  MapTransaction(std::shared_ptr<Shelf> shelf, const std::string& name,
                 std::unique_lock<std::timed_mutex> lock)
      : shelf_(std::move(shelf)),
        lock_(std::move(lock)),
        records_(shelf_->records[name]),
        settings_(shelf_->settings[name]) {}

  std::optional<Record> Load(const Key& key) override {
    const auto found = records_.find(key);
    return found == records_.end() ? std::nullopt : std::optional(found->second);
  }
  void Scan(const std::function<bool(const Key&, Record&&)>& visit) override {
    for (const auto& [key, record] : records_) {
      if (!visit(key, Record(record))) return;
    }
  }
  void Put(const Key& key, const Record& record) override { changes_[key] = record; }
  void Erase(const Key& key) override { changes_[key] = std::nullopt; }
  Json Settings() override { return settings_; }
  void PutSettings(const Json& settings) override { new_settings_ = settings; }
  void Commit() override {
    for (const auto& [key, record] : changes_) {
      if (record) {
        records_[key] = *record;
      } else {
        records_.erase(key);
      }
    }
    if (new_settings_) settings_ = *new_settings_;
  }

 private:
  std::shared_ptr<Shelf> shelf_;
  std::unique_lock<std::timed_mutex> lock_;
  std::map<Key, Record>& records_;
  Json& settings_;
  std::map<Key, std::optional<Record>> changes_;
  std::optional<Json> new_settings_;
};

class MapRecords final : public RecordStore {
 public:
  MapRecords(std::shared_ptr<Shelf> shelf, std::shared_ptr<const Clock> clock)
      : shelf_(std::move(shelf)), clock_(std::move(clock)) {}

  std::unique_ptr<Transaction> Begin(const std::string& collection, Access,
                                     std::chrono::milliseconds budget) override {
    std::unique_lock lock(shelf_->mutex, budget);
    if (!lock) throw StoreException(Errc::kUnavailable, "the shelf is in use");
    return std::make_unique<MapTransaction>(shelf_, collection, std::move(lock));
  }
  void Create(const std::string&) override {}
  [[nodiscard]] TimePoint Now() const noexcept override { return clock_->Now(); }

 private:
  std::shared_ptr<Shelf> shelf_;
  std::shared_ptr<const Clock> clock_;
};

}  // namespace

Backend MakeRecords() {
  const auto shelf = std::make_shared<Shelf>();
  const auto clock = std::make_shared<ManualClock>();
  Backend backend;
  backend.clock = clock;
  backend.open_another = [shelf, clock] {
    return StoreOver(std::make_shared<MapRecords>(shelf, clock));
  };
  backend.store = backend.open_another();
  backend.spoil = [shelf](const std::string& collection, const Key& key) {
    const std::lock_guard guard(shelf->mutex);
    shelf->records.at(collection).at(key).lock["version"] = "first";
  };
  backend.spoil_share = [shelf](const std::string& collection, const Key& key) {
    const std::lock_guard guard(shelf->mutex);
    shelf->records.at(collection).at(key).lock.at("shares").at(0)["ttl"] = "long";
  };
  return backend;
}

}  // namespace doclock::conformance
