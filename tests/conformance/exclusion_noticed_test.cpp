/// The checks of exclusion can fail: each notices stores that do not exclude.

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "conformance/map_records.h"
#include "conformance/racy_store.h"
#include "conformance/suite/exclusion/checks.h"
#include "doclock/store/store.h"

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

std::vector<ExclusionCheck> ChecksOf(std::string_view name) {
  std::vector<ExclusionCheck> checks;
  std::copy_if(std::begin(kExclusionChecks), std::end(kExclusionChecks), std::back_inserter(checks),
               [=](const ExclusionCheck& check) { return check.name == name; });
  return checks;
}

std::string NameOfCheck(const ::testing::TestParamInfo<ExclusionCheck>& check) {
  return std::string(check.param.name);
}

std::string FaultWith(const ExclusionCheck& check,
                      const std::vector<std::shared_ptr<Store>>& stores) {
  std::vector<Client> clients;
  for (const auto& store : stores) {
    for (std::size_t i = 0; i < 4 / stores.size(); ++i) clients.emplace_back(store);
  }
  return check.run(clients);
}

/// The fault that a check finds in stores that are broken. They may meet nobody for a while: it
/// looks at new ones again, some times.
template <class Open>
std::string FaultSometime(const ExclusionCheck& check, const Open& open) {
  constexpr int kMostRuns = 20;
  std::string fault;
  for (int runs = 0; runs < kMostRuns && fault.empty(); ++runs) fault = FaultWith(check, open());
  return fault;
}

/// Stores over records whose transactions do not exclude each other.
class Records : public ::testing::TestWithParam<ExclusionCheck> {
 protected:
  static std::vector<std::shared_ptr<Store>> Open(Excludes excludes, int stores) {
    const auto shelf = std::make_shared<Shelf>();
    const auto clock = std::make_shared<ManualClock>();
    std::vector<std::shared_ptr<Store>> opened;
    for (int i = 0; i < stores; ++i) {
      opened.push_back(StoreOver(MakeMapRecords(shelf, clock, excludes, !GetParam().queues)));
    }
    return opened;
  }
  static std::string Fault(Excludes excludes, int stores = 1) {
    return FaultSometime(GetParam(), [&] { return Open(excludes, stores); });
  }
};

class RecordsWithoutExclusion : public Records {};
TEST_P(RecordsWithoutExclusion, AreNoticed) { EXPECT_NE(Fault(Excludes::kNone), ""); }
INSTANTIATE_TEST_SUITE_P(All, RecordsWithoutExclusion, ::testing::ValuesIn(kExclusionChecks),
                         NameOfCheck);

class RecordsThatExcludeInOneStore : public Records {};
TEST_P(RecordsThatExcludeInOneStore, AreNoticedWithTwo) {
  EXPECT_NE(Fault(Excludes::kOfOneStore, 2), "");
}
INSTANTIATE_TEST_SUITE_P(All, RecordsThatExcludeInOneStore, ::testing::ValuesIn(kExclusionChecks),
                         NameOfCheck);

class RecordsWithoutALockOfMissingOnes : public Records {};
TEST_P(RecordsWithoutALockOfMissingOnes, AreNoticed) {
  EXPECT_NE(Fault(Excludes::kOfFoundRows), "");
}
INSTANTIATE_TEST_SUITE_P(All, RecordsWithoutALockOfMissingOnes,
                         ::testing::ValuesIn(ChecksBut({"CountUnderTheLock", "CountInTheQueue",
                                                        "CountInBatches", "ShareBesideHolders",
                                                        "CountByVersion", "CountBesideTheLock",
                                                        "TakeEachOnce"})),
                         NameOfCheck);

class RecordsThatShowWhatWasThere : public Records {};
TEST_P(RecordsThatShowWhatWasThere, AreNoticed) { EXPECT_NE(Fault(Excludes::kOfStaleKeys), ""); }
INSTANTIATE_TEST_SUITE_P(All, RecordsThatShowWhatWasThere,
                         ::testing::ValuesIn(ChecksOf("CreateOnce")), NameOfCheck);

class RecordsWithoutALockOfTheCollection : public Records {};
TEST_P(RecordsWithoutALockOfTheCollection, AreNoticed) {
  EXPECT_NE(Fault(Excludes::kOfKeysAlone), "");
}
INSTANTIATE_TEST_SUITE_P(All, RecordsWithoutALockOfTheCollection,
                         ::testing::ValuesIn(ChecksOf("InsertUniqueValuesOnce")), NameOfCheck);

class RecordsThatPassTheLockOfTheCollection : public Records {};
TEST_P(RecordsThatPassTheLockOfTheCollection, AreNoticed) {
  EXPECT_NE(Fault(Excludes::kOfCollectionsApart), "");
  EXPECT_NE(Fault(Excludes::kOfCollectionsApart, 2), "");
  EXPECT_NE(Fault(Excludes::kNoneButRacesOfRecords), "");
  EXPECT_NE(Fault(Excludes::kNoneButRacesOfRecords, 2), "");
}
INSTANTIATE_TEST_SUITE_P(All, RecordsThatPassTheLockOfTheCollection,
                         ::testing::ValuesIn(ChecksOf("IndexBesideAnInsert")), NameOfCheck);

/// A store that locks nothing, and finds out at its commits, needs no more.
class RecordsThatRace : public Records {};
TEST_P(RecordsThatRace, AreRight) {
  EXPECT_EQ(FaultWith(GetParam(), Open(Excludes::kNoneButRaces, 1)), "");
  EXPECT_EQ(FaultWith(GetParam(), Open(Excludes::kNoneButRaces, 2)), "");
}
INSTANTIATE_TEST_SUITE_P(All, RecordsThatRace, ::testing::ValuesIn(kExclusionChecks), NameOfCheck);

/// Each kind of store, broken from outside.
class RacyStores : public ::testing::TestWithParam<std::tuple<StoreKind, ExclusionCheck>> {};

TEST_P(RacyStores, AreNoticed) {
  const auto& [kind, check] = GetParam();
  std::vector<Backend> backends;  // what they need lives until the last is looked at
  const auto open = [&] {
    backends.push_back(kind.make());
    return std::vector<std::shared_ptr<Store>>{MakeRacy(backends.back().store)};
  };
  EXPECT_NE(FaultSometime(check, open), "");
}

INSTANTIATE_TEST_SUITE_P(
    All, RacyStores,
    ::testing::Combine(::testing::ValuesIn(AllStores()),
                       ::testing::ValuesIn(ChecksBut({"CountInTheQueue", "InsertUniqueValuesOnce",
                                                      "IndexBesideAnInsert"}))),
    [](const auto& both) {
      return std::get<0>(both.param).name + "_" + std::string(std::get<1>(both.param).name);
    });

}  // namespace
}  // namespace doclock::conformance
