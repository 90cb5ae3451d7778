/// The error names the member that cannot be read.

#include <filesystem>

#include "doclock/json_types.h"
#include "repository/support/harness.h"

namespace doclock {
namespace {

using ::testing::HasSubstr;

enum class Stage { kOpen };
BOOST_DESCRIBE_ENUM(Stage, kOpen)
struct Cash {
  static constexpr std::string_view kTag = "cash";
};
struct Part {
  std::string name;
  std::optional<int> size;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Part, name, size)

struct Wide {
  std::string id;
  Stage stage = Stage::kOpen;
  std::filesystem::path path;
  std::optional<std::string> note;
  std::optional<int> number;
  Decimal128 amount;
  Binary bytes;
  Date date;
  std::chrono::system_clock::time_point time;
  Uuid uuid{};
  ObjectId oid;
  Key key;
  std::variant<Cash> pay;
  LockFields lock;
  std::chrono::duration<double> length{};
  std::chrono::seconds whole{};
  std::vector<std::chrono::seconds> list;
  std::map<std::string, int> map;
  int n = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Wide, id, stage, path, note, number, amount, bytes,
                                                date, time, uuid, oid, key, pay, lock, length,
                                                whole, list, map, n)
struct Doc {
  std::string id;
  std::vector<Part> parts;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Doc, id, parts)

class UnreadableMemberTest : public RepositoryTest {
 protected:
  template <class T>
  std::string ErrorOf(const json& body) {
    EXPECT_TRUE(json(T()).is_object());
    LockingRepository<json> raw(manager, "sagas");
    raw.Erase("1");
    raw.Insert("1", body);
    try {
      (void)LockingRepository<T>(manager, "sagas").Find("1");
    } catch (const DocumentException& error) {
      return error.what();
    }
    return "no error";
  }
};
DOCLOCK_FOR_ALL_STORES(UnreadableMemberTest);

TEST_P(UnreadableMemberTest, IsNamedWhateverItsType) {
  for (const char* name :
       {"stage", "path", "note", "number", "amount", "bytes", "date", "time", "uuid", "oid", "key",
        "pay", "lock", "length", "whole", "list", "map", "n"}) {
    EXPECT_THAT(ErrorOf<Wide>({{name, json::array({true})}, {"other", json::array({true})}}),
                HasSubstr("the member '" + std::string(name)));
  }
}

TEST_P(UnreadableMemberTest, IsNamedWithItsPlace) {
  EXPECT_THAT(ErrorOf<Wide>({{"list", {1, 2, "x"}}}), HasSubstr("the member 'list[2]'"));
  EXPECT_THAT(ErrorOf<Wide>({{"map", {{"a", 1}, {"b", "x"}}}}), HasSubstr("the member 'map.b'"));
  const json good = {{"name", "a"}, {"size", 1}};
  EXPECT_THAT(ErrorOf<Doc>({{"parts", {good, {{"name", 7}, {"size", nullptr}}}}}),
              HasSubstr("the member 'parts[1].name'"));
  EXPECT_THAT(ErrorOf<Doc>({{"parts", {good, good, {{"name", "a"}, {"size", "big"}}}}}),
              HasSubstr("the member 'parts[2].size'"));
  EXPECT_THAT(ErrorOf<Doc>({{"parts", {good, 5}}}), HasSubstr("the member 'parts[1]'"));
}

}  // namespace
}  // namespace doclock
