/// The checks of exclusion can fail: each notices stores that do not exclude.

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "conformance/map_records.h"
#include "conformance/racy_store.h"
#include "conformance/suite/exclusion/checks.h"
#include "doclock/store.h"

namespace doclock::conformance {
namespace {

using Names = std::vector<std::string_view>;

std::vector<ExclusionCheck> ChecksBut(const Names& left_out) {
  std::vector<ExclusionCheck> checks;
  for (const ExclusionCheck& check : kExclusionChecks) {
    if (std::find(left_out.begin(), left_out.end(), check.name) == left_out.end()) {
      checks.push_back(check);
    }
  }
  return checks;
}

std::string NameOfCheck(const ::testing::TestParamInfo<ExclusionCheck>& check) {
  return std::string(check.param.name);
}

std::string FaultWith(const ExclusionCheck& check,
                      const std::vector<std::shared_ptr<Store>>& stores) {
  std::vector<Client> clients;
  for (const auto& store : stores) {
    const std::shared_ptr<Collection> things = store->Open("things", {}, kTtl);
    for (std::size_t i = 0; i < 4 / stores.size(); ++i) clients.emplace_back(*store, things);
  }
  return check.run(clients);
}

/// Stores over records whose transactions do not exclude each other.
class Records : public ::testing::TestWithParam<ExclusionCheck> {
 protected:
  std::shared_ptr<Store> Open(Excludes excludes) {
    return StoreOver(MakeMapRecords(shelf_, clock_, excludes, !GetParam().queues));
  }

  const std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
};

class RecordsWithoutExclusion : public Records {};
TEST_P(RecordsWithoutExclusion, AreNoticed) {
  EXPECT_NE(FaultWith(GetParam(), {Open(Excludes::kNone)}), "");
}
INSTANTIATE_TEST_SUITE_P(All, RecordsWithoutExclusion, ::testing::ValuesIn(kExclusionChecks),
                         NameOfCheck);

class RecordsThatExcludeInOneStore : public Records {};
TEST_P(RecordsThatExcludeInOneStore, AreNoticedWithTwo) {
  const std::vector stores{Open(Excludes::kOfOneStore), Open(Excludes::kOfOneStore)};
  EXPECT_NE(FaultWith(GetParam(), stores), "");
}
INSTANTIATE_TEST_SUITE_P(All, RecordsThatExcludeInOneStore, ::testing::ValuesIn(kExclusionChecks),
                         NameOfCheck);

class RecordsWithoutALockOfMissingOnes : public Records {};
TEST_P(RecordsWithoutALockOfMissingOnes, AreNoticed) {
  EXPECT_NE(FaultWith(GetParam(), {Open(Excludes::kOfFoundRows)}), "");
}
INSTANTIATE_TEST_SUITE_P(All, RecordsWithoutALockOfMissingOnes,
                         ::testing::ValuesIn(ChecksBut({"CountUnderTheLock", "CountInTheQueue",
                                                        "CountInBatches", "ShareBesideHolders",
                                                        "CountByVersion", "CountBesideTheLock",
                                                        "TakeEachOnce"})),
                         NameOfCheck);

/// Each kind of store, broken from outside.
class RacyStores : public ::testing::TestWithParam<std::tuple<StoreKind, ExclusionCheck>> {};

TEST_P(RacyStores, AreNoticed) {
  const auto& [kind, check] = GetParam();
  const Backend backend = kind.make();
  EXPECT_NE(FaultWith(check, {MakeRacy(backend.store)}), "");
}

INSTANTIATE_TEST_SUITE_P(All, RacyStores,
                         ::testing::Combine(::testing::ValuesIn(AllStores()),
                                            ::testing::ValuesIn(ChecksBut(
                                                {"CountInTheQueue", "InsertUniqueValuesOnce"}))),
                         [](const auto& both) {
                           return std::get<0>(both.param).name + "_" +
                                  std::string(std::get<1>(both.param).name);
                         });

}  // namespace
}  // namespace doclock::conformance
