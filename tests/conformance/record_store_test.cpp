/// StoreOver records whose transactions fail in ways that no store of the suite does.

#include <gtest/gtest.h>

#include <stdexcept>

#include "doclock/store.h"

#include "doclock/store/record_store.h"

namespace doclock::conformance {
namespace {

/// A disk that is full: the commit fails with an exception that is no Error.
class FullDisk : public RecordStore {
 public:
  class FullTransaction final : public Transaction {
   public:
    std::optional<Record> Load(const std::string&, const Key&) override { return std::nullopt; }
    void Scan(const std::string&, const std::function<bool(const Key&, Record&&)>&) override {}
    void Put(const std::string&, const Key&, const Record&) override {}
    void Erase(const std::string&, const Key&) override {}
    nlohmann::json Settings(const std::string&) override { return nullptr; }
    void PutSettings(const std::string&, const nlohmann::json&) override {}
    void Commit() override { throw std::runtime_error("no space"); }
  };

  std::unique_ptr<Transaction> Begin(Access, std::chrono::milliseconds) override {
    return std::make_unique<FullTransaction>();
  }
  void Create(const std::string&) override {}
};

TEST(RecordStores, AnyOtherExceptionLeavesTheOperationInDoubt) {
  const auto store = StoreOver(std::make_shared<FullDisk>());
  const auto things = store->Open("things", {}, std::chrono::seconds(30));
  const Key key("a");
  AcquireOp op(*things, key);
  op.grant.lock_id = NewUuid();
  op.grant.ttl = std::chrono::seconds(30);
  op.insert = Body::FromJson({{"n", 1}});
  StoreOp* const batch[] = {&op};
  EXPECT_THROW(store->Execute(batch, std::chrono::seconds(1)), std::runtime_error);
  EXPECT_EQ(op.status, OpStatus::kPending) << "the engine takes it for one in doubt";
}

TEST(RecordStores, TheClockMarginOfTheRecordsIsTheStoresOwn) {
  class JumpyClock final : public FullDisk {
   public:
    [[nodiscard]] std::chrono::nanoseconds ClockMargin() const noexcept override {
      return std::chrono::milliseconds(250);
    }
  };
  EXPECT_EQ(StoreOver(std::make_shared<JumpyClock>())->traits().clock_margin,
            std::chrono::milliseconds(250));
  EXPECT_EQ(StoreOver(std::make_shared<FullDisk>())->traits().clock_margin,
            StoreTraits{}.clock_margin);
}

}  // namespace
}  // namespace doclock::conformance
