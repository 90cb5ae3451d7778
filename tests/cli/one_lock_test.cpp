#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/harness.h"
#include "doclock/json/lock_fields.h"
#include "doclock/json/uuid.h"
#include "doclock/lock_provider.h"
#include "doclock/locking_repository.h"
#include "doclock/stores/sqlite.h"

namespace doclock::cli_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

struct Keyed {
  const char* type;
  const char* text;
  Key key;
};

/// `renew` and `release` of one lock by its id.
class OneLockTest : public CliTest {
 protected:
  /// Locks the document, and leaves the lock behind. Returns its id.
  std::string Leave(const Key& key) {
    auto lock = sagas_.Lock({key, json{{"n", 1}}});
    const std::string id = ToText(lock.lock_id());
    version_ = lock.version();
    lock.Detach();
    return id;
  }
  Ended WithId(const std::string& verb, const Keyed& key, const std::string& id,
               std::vector<std::string> options = {}) {
    std::vector<std::string> line{"-c", "sagas", verb, "--lock-file=-", "--key-type", key.type};
    line.insert(line.end(), options.begin(), options.end());
    line.insert(line.end(), {"--", key.text});
    return Doclock(line, id);
  }

  LockManager manager_{OpenSqliteStore(folder / "locks.db")};
  LockingRepository<json> sagas_{manager_, "sagas"};
  std::int64_t version_ = 0;
};

const std::vector<Keyed>& Keys() {
  static const std::vector<Keyed> keys{
      {"string", "-42", Key("-42")},
      {"int", "-42", Key(std::int64_t{-42})},
      {"uuid", "6f1c36ce-06a8-4f3d-8b57-0b38dfc7a6ac",
       Key(UuidFromText("6f1c36ce-06a8-4f3d-8b57-0b38dfc7a6ac"))},
      {"oid", "0123456789abcdef01234567", Key(ObjectIdFromText("0123456789abcdef01234567"))}};
  return keys;
}

TEST_F(OneLockTest, KeysOfEachTypeAreRenewedAndReleasedAndTheBodyStays) {
  for (const Keyed& key : Keys()) {
    const std::string id = Leave(key.key);
    const Ended renewed = WithId("renew", key, id + "\n", {"--ttl", "1h", "--json"});
    ASSERT_EQ(renewed.code, 0) << key.type << renewed.err;
    EXPECT_EQ(json::parse(renewed.out).at("renewed")[0].at("keyType"), key.type);
    const json shown = json::parse(
        Doclock({"-c", "sagas", "status", "--json", "--key-type", key.type, "--", key.text}).out);
    EXPECT_GT(shown.at(0).at("remainingMs"), 60'000) << key.type;
    const Ended released = WithId("release", key, id);
    EXPECT_EQ(released.code, 0) << key.type << released.err;
    EXPECT_EQ(released.out, std::string("released ") + key.text + "\n");
    EXPECT_EQ(WithId("release", key, id).code, 66) << "it is free";
    EXPECT_EQ(sagas_.Find(key.key).value()->dump(), R"({"n":1})");
  }
}

TEST_F(OneLockTest, LockFieldsInAFileNameTheVersionToo) {
  const Keyed key{"string", "a", Key("a")};
  LockFields fields;
  fields.id = UuidFromText(Leave(key.key));
  fields.version = version_ + 1;
  EXPECT_EQ(WithId("release", key, json(fields).dump()).code, 66) << "another version";
  fields.version = version_;
  std::ofstream(folder / "lock.json") << json(fields);
  const Ended released =
      Doclock({"-c", "sagas", "release", "--lock-file", folder / "lock.json", "a"});
  EXPECT_EQ(released.code, 0) << released.err;
  EXPECT_TRUE(sagas_.TryLock(Key("a")));
}

TEST_F(OneLockTest, AShareIsReleasedAndTheOthersStay) {
  const LockProvider locks(manager_, "sagas");
  const auto leave = [&] {
    HeldLock lock = locks.Acquire("a", {.mode = LockMode::kShared});
    const std::string id = ToText(lock.lock_id());
    lock.Detach();
    return id;
  };
  const Keyed key{"string", "a", Key("a")};
  const std::string first = leave(), second = leave();
  EXPECT_EQ(WithId("renew", key, second, {"--ttl", "1h"}).code, 0);
  EXPECT_EQ(WithId("release", key, first).code, 0);
  const std::string left = Doclock({"-c", "sagas", "status", "--json", "a"}).out;
  EXPECT_EQ(json::parse(left).size(), 1U) << left;
  EXPECT_EQ(WithId("release", key, second).code, 0);
}

TEST_F(OneLockTest, AnIdThatLocksNothingChangesNothingAndIsNotRepeated) {
  const Keyed key{"string", "a", Key("a")};
  Leave(key.key);
  const std::string other = "11111111-2222-4333-8444-555555555555";
  for (const char* verb : {"renew", "release"}) {
    const Ended foreign = WithId(verb, key, other);
    EXPECT_EQ(foreign.code, 66) << foreign.err;
    EXPECT_THAT(foreign.err, HasSubstr("'sagas'"));
    EXPECT_THAT(foreign.err, Not(HasSubstr("11111111")));
    EXPECT_EQ(WithId(verb, {"string", "b", Key("b")}, other).code, 66) << "no such document";
    for (const std::string bad : {"", "hunter2", R"({"id":"hunter2","version":1})", "{\"id\":null}",
                                  R"({"id":null,"time":null,"version":1})"}) {
      const Ended ended = WithId(verb, key, bad);
      EXPECT_EQ(ended.code, 64) << bad;
      EXPECT_THAT(ended.err, HasSubstr("--lock-file"));
      EXPECT_THAT(ended.err, Not(HasSubstr("hunter2")));
    }
  }
  EXPECT_FALSE(sagas_.TryLock(key.key)) << "it is still locked";
}

TEST_F(OneLockTest, TheKeysTypeIsOfOneLockOnly) {
  const Ended group = Doclock({"release", "--key-type", "int", "g"});
  EXPECT_EQ(group.code, 64);
  EXPECT_THAT(group.err, HasSubstr("--lock-file"));
  const Ended bad = WithId("release", {"int", "4x", Key("x")}, "");
  EXPECT_EQ(bad.code, 64);
  EXPECT_THAT(bad.err, HasSubstr("KEY"));
  EXPECT_THAT(Doclock({"release", std::string(2000, 'g')}).err, HasSubstr("GROUP"));
  EXPECT_THAT(Doclock({"release", "--", ""}).err, HasSubstr("GROUP must not be empty"));
}

}  // namespace
}  // namespace doclock::cli_test
