// The recipes for searches (docs/how-to/search.md).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "docs_how_to_search_audit.cpp"
#include "repository/support/stores.h"

namespace {

using ::testing::ElementsAre;

struct Part {
  std::string id;
  int size = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Part, id, size)

class SearchRecipe : public ::testing::TestWithParam<doclock::StoreKind> {
 protected:
  void Insert(const char* id, const nlohmann::json& size) const {
    raw.Insert(id, nlohmann::json{{"size", size}});
  }

  doclock::LockManager manager{GetParam().open(nullptr)};
  doclock::LockingRepository<Part> parts{manager, "parts"};
  doclock::LockingRepository<nlohmann::json> raw{manager, "parts"};
};

TEST_P(SearchRecipe, AnAuditGoesOnAfterEachDocumentThatCannotBeRead) {
  Insert("a", "bad");
  Insert("b", 2);
  Insert("c", "bad");
  Insert("d", "bad");
  Insert("e", 5);
  Insert("f", "bad");
  std::vector<std::string> seen;
  const auto unreadable =
      Audit(parts, [&](const doclock::Snapshot<Part>& part) { seen.push_back(part->id); });
  EXPECT_THAT(seen, ElementsAre("b", "e"));
  EXPECT_THAT(unreadable, ElementsAre("a", "c", "d", "f"));
}

TEST_P(SearchRecipe, AnOrderedWalkGoesOnWithTheValueOfTheDocumentThatCannotBeRead) {
  Insert("a", 1);
  Insert("b", "bad");
  Insert("c", 3);
  const auto by_size = doclock::Filter{}.OrderByDescending("size");
  std::vector<std::string> seen;
  const auto note = [&](const doclock::Snapshot<Part>& part) { seen.push_back(part->id); };
  try {
    parts.ForEach(by_size, note);
    FAIL() << "b was read";
  } catch (const doclock::DocumentException& error) {
    ASSERT_TRUE(error.document());
    const doclock::Key& key = error.document()->key;
    const nlohmann::json size = (*raw.Find(key).value())["size"];
    parts.ForEach(doclock::Filter(by_size).After(key, size), note);
  }
  EXPECT_THAT(seen, ElementsAre("c", "a"));
}

TEST_P(SearchRecipe, TheMemberOfTheKeyAndItsNameInFiltersSelectByKey) {
  for (const char* id : {"2025-9", "2026-1", "2026-2", "2027-1"}) parts.Insert(Part{id});
  std::vector<std::string> seen;
  for (const char* field : {"id", "_id"}) {
    const auto year = doclock::Filter{}.AtLeast(field, "2026-").Less(field, "2027-");
    for (const auto& part : parts.Find(year)) seen.push_back(part->id);
  }
  EXPECT_THAT(seen, ElementsAre("2026-1", "2026-2", "2026-1", "2026-2"));
}

TEST_P(SearchRecipe, AMissingFieldIsNullDiffersFromAValueAndIsInNoRange) {
  parts.Insert(Part{"has", 1});
  raw.Insert("lacks", nlohmann::json::object());
  raw.Insert("null", nlohmann::json{{"size", nullptr}});
  const auto keys = [&](const doclock::Filter& filter) {
    std::vector<std::string> found;
    for (const auto& part : raw.Find(filter)) found.push_back(part.key().ToString());
    return found;
  };
  EXPECT_THAT(keys(doclock::Filter{}.Equal("size", nullptr)), ElementsAre("lacks", "null"));
  EXPECT_THAT(keys(doclock::Filter{}.NotEqual("size", 2)), ElementsAre("has", "lacks", "null"));
  EXPECT_THAT(keys(doclock::Filter{}.AtMost("size", 9)), ElementsAre("has"));
  EXPECT_THAT(keys(doclock::Filter{}.Less("size", "9")), ::testing::IsEmpty());
}

DOCLOCK_FOR_ALL_STORES(SearchRecipe);

}  // namespace
