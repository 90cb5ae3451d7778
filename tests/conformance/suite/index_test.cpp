#include "store_conformance.h"

namespace doclock::conformance {
namespace {

TEST_P(StoreConformance, AUniqueIndexOverAFieldWithACommaIsNotTheOneOverTwoFields) {
  store().EnsureIndex(things_.collection(), {{"a,b"}, true});
  store().EnsureIndex(things_.collection(), {{"a", "b"}, true});
  EXPECT_EQ(things_.Insert("1", {{"a", 1}, {"b", 1}, {"a,b", 1}}).status, OpStatus::kDone);
  EXPECT_EQ(things_.Insert("2", {{"a", 1}, {"b", 2}, {"a,b", 2}}).status, OpStatus::kDone);
  EXPECT_EQ(things_.Insert("3", {{"a", 1}, {"b", 2}, {"a,b", 3}}).status, OpStatus::kConflict);
  EXPECT_EQ(things_.Insert("4", {{"a", 1}, {"b", 3}, {"a,b", 2}}).status, OpStatus::kConflict);
}

}  // namespace
}  // namespace doclock::conformance
