/// The checks of two stores can fail: each notices stores that break its rule.

#include <memory>

#include "conformance/map_records.h"
#include "conformance/suite/two_stores.h"

namespace doclock::conformance {
namespace {

/// What two stores over the same records say.
class TwoRecordStores : public ::testing::Test {
 protected:
  std::shared_ptr<Store> Open() {
    return StoreOver(MakeMapRecords(shelf_, clock_, Excludes::kOfSameKeys));
  }
  std::string FaultAfterAGap() {
    return conformance::FaultAfterAGap(things_, others_, [this] { shelf_->LoseHints(); });
  }

  const std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  const std::shared_ptr<Store> store_ = Open(), other_store_ = Open();
  Client things_{store_};
  Client others_{other_store_};
};

TEST_F(TwoRecordStores, ThatAreSilentAfterAGapAreNoticed) {
  EXPECT_EQ(FaultAfterAGap(), "");
  shelf_->hint_fault = HintFault::kSilentGap;
  EXPECT_NE(FaultAfterAGap(), "");
}

TEST_F(TwoRecordStores, WhoseSubscriptionsEndEarlyAreNoticed) {
  EXPECT_EQ(FaultAtTheEnd(things_, others_), "");
  shelf_->hint_fault = HintFault::kEarlyEnd;
  EXPECT_NE(FaultAtTheEnd(things_, others_), "");
}

TEST_F(TwoRecordStores, ThatCreateWhatIsMissingAreNoticed) {
  EXPECT_NE(FaultOfExisting(*store_), "");
}

}  // namespace
}  // namespace doclock::conformance
