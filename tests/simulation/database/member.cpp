#include "simulation/database/member.h"

#include <chrono>

namespace doclock::simulation {

class Member::Transaction final : public RecordStore::Transaction {
 public:
  explicit Transaction(Member& member) : member_(member) {}

  std::vector<std::optional<Record>> Load(std::span<const RecordKey> keys) override {
    std::vector<std::optional<Record>> records;
    for (const auto& [collection, key] : keys) records.push_back(Find(collection, key));
    return records;
  }
  RecordTime Now() override { return {member_.clock_(), std::chrono::system_clock::now()}; }
  void Scan(const std::string& collection, const Filter&,
            const std::function<bool(const Key&, Record&&)>& visit) override {
    for (const auto& [key, record] : member_.records_[collection]) {
      if (!visit(key, Record(record))) return;
    }
  }
  void Put(const std::string& collection, const Key& key, const Record& record) override {
    changes_.push_back({collection, key, Find(collection, key), record, member_.clock_()});
  }
  void Erase(const std::string& collection, const Key& key) override {
    changes_.push_back({collection, key, Find(collection, key), std::nullopt, member_.clock_()});
  }
  nlohmann::json Settings(const std::string& collection) override {
    return member_.settings_[collection];
  }
  void PutSettings(const std::string& collection, const nlohmann::json& settings) override {
    member_.settings_[collection] = settings;
  }
  void Commit() override { member_.commit_(std::move(changes_)); }

 private:
  std::optional<Record> Find(const std::string& collection, const Key& key) const {
    const auto& records = member_.records_[collection];
    const auto found = records.find(key);
    return found == records.end() ? std::nullopt : std::optional(found->second);
  }

  Member& member_;
  std::vector<Change> changes_;
};

std::unique_ptr<RecordStore::Transaction> Member::Begin(Access, std::chrono::milliseconds) {
  return std::make_unique<Member::Transaction>(*this);
}

void Member::Put(const Change& change, const std::optional<Record>& record) {
  auto& records = records_[change.collection];
  if (record) {
    records[change.key] = *record;
  } else {
    records.erase(change.key);
  }
}

}  // namespace doclock::simulation
