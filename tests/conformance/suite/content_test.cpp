#include <algorithm>
#include <array>
#include <limits>

#include "store_conformance.h"

namespace doclock::conformance {
namespace {

/// To the letter: the text tells 1 from 1.0, and 0.0 from -0.0.
bool IsSame(const Json& a, const Json& b) { return a == b && a.dump() == b.dump(); }

/// Goes in by an insert, comes out by an acquire, goes in by its release, comes out by a read.
void ExpectRoundTrip(Client& things, const Key& key, const Json& tree) {
  ASSERT_EQ(things.Insert(key, tree).status, OpStatus::kDone);
  const AcquireOp grant = things.Acquire(key);
  ASSERT_EQ(grant.status, OpStatus::kDone);
  EXPECT_EQ(grant.result.body.json(), tree);
  ASSERT_EQ(things.Release(key, grant, MakeBody({{"wrapped", tree}})).status, OpStatus::kDone);
  const Json wrapped{{"wrapped", tree}};
  const Body read = things.Read(key).result.body;
  EXPECT_TRUE(IsSame(read.json(), wrapped)) << read.json() << " is not " << wrapped;
}

TEST_P(StoreConformance, NumbersKeepTheirValueAndKind) {
  using Limits = std::numeric_limits<double>;
  const Json tree{{"min", std::numeric_limits<std::int64_t>::min()},
                  {"max", std::numeric_limits<std::int64_t>::max()},
                  {"umax", std::numeric_limits<std::uint64_t>::max()},
                  {"beyond 2^53", (std::int64_t{1} << 53) + 1},
                  {"tiny", Limits::denorm_min()},
                  {"huge", Limits::max()},
                  {"third", 1.0 / 3},
                  {"whole", 2.0},
                  {"minus zero", -0.0}};
  ExpectRoundTrip(things_, "42", backend().Kept(tree));
  const Json read = things_.Read("42").result.body.json().at("wrapped");
  EXPECT_TRUE(read.at("umax").is_number_unsigned());
  EXPECT_TRUE(read.at("max").is_number_integer());
  EXPECT_TRUE(read.at("whole").is_number_float());
}

/// One is what the other is not, though nlohmann says that they are equal: at the top, in an object
/// and in an array.
Json Numbers(const Json& number) {
  return {{"top", number}, {"in", {{"object", number}}}, {"array", {1, {{"x", number}}}}};
}

TEST_P(StoreConformance, ANumberThatChangesItsKindOnlyIsWritten) {
  constexpr std::int64_t kAbove = (std::int64_t{1} << 53) + 1;
  const std::vector<Json> pairs[] = {
      {1, 1.0}, {1.0, 1}, {0.0, -0.0}, {-0.0, 0.0}, {kAbove, static_cast<double>(kAbove)}};
  for (const std::vector<Json>& pair : pairs) {
    if (!IsSame(backend().Kept(pair), pair)) continue;
    const Key key(FreshId());
    const Json before = Numbers(pair[0]), after = Numbers(pair[1]);
    const SaveOp made = things_.Insert(key, before);
    ASSERT_EQ(made.status, OpStatus::kDone);
    SaveOp save = things_.SaveOf(SaveKind::kReplace, key, made.result.version, made.result.born);
    save.request.base = made.request.body;
    save.request.body = MakeBody(after);
    things_.Execute(save);
    ASSERT_EQ(save.status, OpStatus::kDone);
    const AcquireOp grant = things_.Acquire(key);
    EXPECT_TRUE(IsSame(grant.result.body.json(), after)) << pair[0] << " to " << pair[1];
    WriteOp write =
        things_.ReleaseOf(key, grant.request.grant.lock_id, {.expected = grant.result.version});
    write.request.base = grant.result.body;
    write.request.body = MakeBody(before);
    things_.Execute(write);
    ASSERT_EQ(write.status, OpStatus::kDone);
    const Body read = things_.Read(key).result.body;
    EXPECT_TRUE(IsSame(read.json(), before)) << pair[1] << " to " << pair[0];
  }
}

TEST_P(StoreConformance, StringsKeepEveryCharacter) {
  Json tree{{"unicode", "Grüße, 世界 🌍 \u2028"},
            {"quotes", R"('"`\; DROP TABLE things; --)"},
            {"controls", "\t\n\r\x01\x7f"},
            {"empty", ""}};
  if (backend().keeps_all_json) tree["nul"] = std::string("a\0b", 3);
  ExpectRoundTrip(things_, "42", tree);
}

TEST_P(StoreConformance, ATextWithNulIsRefusedByItsPathIfItIsNotKept) {
  if (backend().keeps_all_json) GTEST_SKIP() << "it is kept";
  const Json bad{{"a", {1, {{"b", std::string("x\0y", 3)}}}}};
  const auto expect_refused = [](const StoreOp& op) {
    ASSERT_EQ(op.status, OpStatus::kFailed);
    const OpDetail& detail = DetailOf(op);
    EXPECT_EQ(detail.code, Errc::kDocument);
    EXPECT_NE(detail.message.find("a[1].b"), std::string::npos) << detail.message;
  };
  expect_refused(things_.Insert("42", bad));
  const AcquireOp grant = things_.Create("42", {{"good", 1}});
  ASSERT_EQ(grant.status, OpStatus::kDone);
  expect_refused(things_.Release("42", grant, MakeBody(bad)));
  EXPECT_EQ(things_.Read("42").result.body.json(), Json({{"good", 1}}));
  EXPECT_EQ(things_.Release("42", grant).status, OpStatus::kDone);
}

TEST_P(StoreConformance, NamesOfFieldsMayBeAlmostAnything) {
  ExpectRoundTrip(
      things_, "42",
      {{"with space", 1}, {"\"quoted\"", 2}, {"Ünï", 3}, {"nested", {{"$set", 4}, {"a.b", 5}}}});
}

TEST_P(StoreConformance, EmptyAndNullValuesStayApart) {
  ExpectRoundTrip(things_, "42",
                  {{"null", nullptr},
                   {"object", Json::object()},
                   {"array", Json::array()},
                   {"false", false},
                   {"zero", 0},
                   {"list", {nullptr, {}, Json::object()}}});
}

TEST_P(StoreConformance, BodiesMayBeDeep) {
  Json tree{{"leaf", true}};
  for (int depth = 2; depth < kMaxBodyDepth; ++depth) {
    tree = depth % 2 == 0 ? Json{{"in", std::move(tree)}} : Json{{"in", Json::array({tree})}};
    if (depth % 2 != 0) ++depth;
  }
  ASSERT_EQ(things_.Insert("42", tree).status, OpStatus::kDone);
  EXPECT_EQ(things_.Read("42").result.body.json(), tree);
}

TEST_P(StoreConformance, BodiesMayBeLarge) {
  std::string text(1024 * 1024, 'x');
  for (std::size_t i = 0; i < text.size(); i += 997) text[i] = '"';
  ExpectRoundTrip(things_, "42", {{"text", text}});
}

TEST_P(StoreConformance, BodiesMayBeAsLargeAsAnyBodyMayBe) {
  const std::size_t wrapping = Json{{"text", ""}}.dump().size();
  const Json one{{"text", std::string(kMaxBodyBytes - wrapping, 'x')}};
  const Json two{{"text", std::string(kMaxBodyBytes - wrapping, 'y')}};
  ASSERT_EQ(things_.Insert("42", one).status, OpStatus::kDone);
  const AcquireOp grant = things_.Acquire("42");
  ASSERT_EQ(grant.status, OpStatus::kDone);
  EXPECT_TRUE(grant.result.body.json() == one);  // a store may keep it with other spaces
  ASSERT_EQ(things_.Release("42", grant, MakeBody(two)).status, OpStatus::kDone);
  EXPECT_TRUE(things_.Read("42").result.body.json() == two);
}

TEST_P(StoreConformance, KeysThatPrintAlikeAreDifferentDocuments) {
  const Uuid uuid = FreshId();
  ObjectId object;
  object.bytes.fill(7);
  const std::vector<Key> keys{Key(7),      Key("7"),
                              Key(uuid),   Key(Key(uuid).ToString()),
                              Key(object), Key(Key(object).ToString())};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(things_.Insert(keys[i], {{"n", i}}).status, OpStatus::kDone) << i;
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(things_.Read(keys[i]).result.body.json().at("n"), i);
  }
  EXPECT_EQ(things_.Query(Filter()).size(), keys.size());
}

TEST_P(StoreConformance, HostileKeysAreOrdinaryKeys) {
  const std::vector<std::string> texts{"",
                                       " ",
                                       "'; DROP TABLE doclock_things; --",
                                       "\"",
                                       "$where",
                                       "{\"$gt\": \"\"}",
                                       "a.b/c\\d",
                                       "%_*?",
                                       "Ünï🌍",
                                       "Case",
                                       "case",
                                       "case ",
                                       std::string("a\0b", 3),
                                       std::string("a\0c", 3),
                                       std::string("a"),
                                       std::string(kMaxKeyBytes, 'k'),
                                       std::string(kMaxKeyBytes - 1, 'k')};
  for (std::size_t i = 0; i < texts.size(); ++i) things_.Create(texts[i], {{"n", i}});
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const ReadOp read = things_.Read(texts[i]);
    ASSERT_EQ(read.status, OpStatus::kDone) << i;
    EXPECT_EQ(read.result.body.json().at("n"), i);
  }
  std::vector<Key> expected(texts.begin(), texts.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(things_.Query(Filter()), expected);
}

TEST_P(StoreConformance, IntegerKeysReachTheirLimits) {
  const std::vector<Key> keys{Key(std::numeric_limits<std::int64_t>::min()), Key(-1), Key(0),
                              Key(std::numeric_limits<std::int64_t>::max())};
  for (const Key& key : keys) things_.Create(key);
  EXPECT_EQ(things_.Query(Filter()), keys);
}

TEST_P(StoreConformance, OwnersKeepWhatTheySay) {
  LockHolder holder;
  holder.name = "Ünï 'quoted' \"twice\"";
  holder.host = "host.example";
  holder.pid = 4711;
  Key key("42");
  AcquireOp op = things_.AcquireOf(key);
  op.request.grant.owner = std::make_shared<const LockHolder>(holder);
  op.request.insert = MakeBody(Json::object());
  things_.Execute(op);
  const ReadOp read = things_.Read("42");
  EXPECT_EQ(read.result.holder.name, holder.name);
  EXPECT_EQ(read.result.holder.host, holder.host);
  EXPECT_EQ(read.result.holder.pid, holder.pid);
}

TEST_P(StoreConformance, CollectionsDoNotMix) {
  Client others = Open("others");
  const AcquireOp here = things_.Create("42", {{"in", "things"}});
  EXPECT_EQ(others.Read("42").status, OpStatus::kMissing);
  EXPECT_EQ(others.Create("42", {{"in", "others"}}).status, OpStatus::kDone);
  EXPECT_EQ(others.Release("42", here).status, OpStatus::kLost);
  EXPECT_EQ(things_.Query(Filter()).size(), 1U);
  EXPECT_EQ(things_.Rows(Filter()).at(0).body.json().at("in"), "things");
}

TEST_P(StoreConformance, OpeningACollectionTwiceGivesTheSame) {
  EXPECT_EQ(store().Open("things", {}, kTtl), store().Find("things"));
  EXPECT_EQ(store().Find("nothing"), nullptr);
  LockFieldNames names;
  names.id = "LockId";
  EXPECT_THROW(store().Open("things", names, kTtl), std::invalid_argument);
  EXPECT_THROW(store().Open("things", {}, kTtl + 1ms), std::invalid_argument);
}

TEST_P(StoreConformance, BadNamesOfCollectionsAreRefused) {
  for (const std::string& name :
       {std::string(), std::string(".a"), std::string("-a"), std::string("a b"),
        std::string("a\"b"), std::string("ä"), std::string("a\0b", 3), std::string(65, 'a')}) {
    EXPECT_THROW(store().Open(name, {}, kTtl), std::invalid_argument) << name;
    EXPECT_EQ(store().Find(name), nullptr);
  }
  for (const std::string& name : {std::string("A-b_c.9"), std::string(64, 'a'), std::string("9")}) {
    EXPECT_NE(store().Open(name, {}, kTtl), nullptr);
  }
}

TEST_P(StoreConformance, BadNamesOfLockFieldsAreRefused) {
  LockFieldNames names;
  names.born = "born.at";
  EXPECT_THROW(store().Open("others", names, kTtl), std::invalid_argument);
  names.born = names.owner;
  EXPECT_THROW(store().Open("others", names, kTtl), std::invalid_argument);
}

TEST_P(StoreConformance, MalformedLockFieldsAreATypedErrorAndDoNotAffectOthers) {
  if (!backend().spoil) GTEST_SKIP() << "a test cannot reach this store's lock fields";
  things_.Insert("bad", {{"a", 1}});
  things_.Insert("good", {{"a", 1}});
  backend().spoil("things", "bad");
  const AcquireOp bad = things_.Acquire("bad");
  ASSERT_EQ(bad.status, OpStatus::kFailed);
  EXPECT_EQ(DetailOf(bad).code, Errc::kMalformed);
  EXPECT_EQ(things_.Acquire("good").status, OpStatus::kDone);
}

}  // namespace
}  // namespace doclock::conformance
