#include "simulation/database/member.h"

namespace doclock::simulation {

class Member::Transaction final : public RecordStore::Transaction {
 public:
  Transaction(Member& member, std::string collection)
      : member_(member), collection_(std::move(collection)) {}

  std::optional<Record> Load(const Key& key) override {
    const auto& records = member_.records_[collection_];
    const auto found = records.find(key);
    return found == records.end() ? std::nullopt : std::optional(found->second);
  }
  void Scan(const std::function<bool(const Key&, Record&&)>& visit) override {
    for (const auto& [key, record] : member_.records_[collection_]) {
      if (!visit(key, Record(record))) return;
    }
  }
  void Put(const Key& key, const Record& record) override {
    changes_.push_back({collection_, key, Load(key), record, member_.Now()});
  }
  void Erase(const Key& key) override {
    changes_.push_back({collection_, key, Load(key), std::nullopt, member_.Now()});
  }
  nlohmann::json Settings() override { return member_.settings_[collection_]; }
  void PutSettings(const nlohmann::json& settings) override {
    member_.settings_[collection_] = settings;
  }
  void Commit() override { member_.commit_(std::move(changes_)); }

 private:
  Member& member_;
  const std::string collection_;
  std::vector<Change> changes_;
};

std::unique_ptr<RecordStore::Transaction> Member::Begin(const std::string& collection, Access,
                                                        std::chrono::milliseconds) {
  return std::make_unique<Member::Transaction>(*this, collection);
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
