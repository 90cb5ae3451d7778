#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doclock/store/record_store.h"

namespace doclock::simulation {

/// One change of one document.
struct Change {
  std::string collection;
  Key key;
  std::optional<Record> before;
  std::optional<Record> after;
  TimePoint at{};  ///< By the member's clock.
};

/// The documents of one member of the database, for the lock core (rules/).
class Member final : public RecordStore {
 public:
  using Clock = std::function<TimePoint()>;
  using OnCommit = std::function<void(std::vector<Change>)>;

  /// `commit` puts the changes in place.
  Member(Clock clock, OnCommit commit) : clock_(std::move(clock)), commit_(std::move(commit)) {}
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member() override = default;

  void CopyFrom(const Member& other) {
    records_ = other.records_;
    settings_ = other.settings_;
  }
  void Put(const Change& change, const std::optional<Record>& record);

  std::unique_ptr<RecordStore::Transaction> Begin(Access access,
                                                  std::chrono::milliseconds budget) override;
  void Create(const std::string&) override {}
  [[nodiscard]] std::string ClockRun() const override { return "simulation"; }

 private:
  class Transaction;

  const Clock clock_;
  const OnCommit commit_;
  std::map<std::string, std::map<Key, Record>> records_;
  std::map<std::string, nlohmann::json> settings_;
};

}  // namespace doclock::simulation
