#include <rapidcheck.h>

#include "doclock/locking_repository.h"
#include "store_conformance.h"

namespace doclock::conformance {
namespace {

// What a program does not know, or does not change, keeps all digits of its numbers.

struct Inner {
  double known = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Inner, known)
/// Knows a part of the documents.
struct Part {
  int n = 0;
  double known = 0;
  Inner in;
  std::vector<double> list;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Part, n, known, in, list)

/// Compact, with all digits.
std::string TextOf(const Body& body) { return Body::FromJson(body.json(), body).text(); }

std::string Digits(int least, int most) {
  std::string digits;
  for (int i = *rc::gen::inRange(least, most + 1); i > 0; --i) {
    digits += static_cast<char>('0' + *rc::gen::inRange(0, 10));
  }
  return digits;
}

/// A number in JSON text. One that is short has no more digits than a double holds. What Part knows
/// has a point: Part writes a whole number as a double.
std::string Number(bool is_short, bool known) {
  std::string text = *rc::gen::arbitrary<bool>() ? "-" : "";
  const std::string whole = Digits(0, is_short ? 5 : 40);
  const std::size_t first = whole.find_first_not_of('0');
  text += first == whole.npos ? "0" : whole.substr(first);
  // Some have thousands of digits.
  if (!is_short && *rc::gen::inRange(0, 10) == 0) {
    text += text.back() == '0' ? "" : std::string(3000, '7');
  }
  if (known || *rc::gen::arbitrary<bool>()) text += "." + Digits(1, is_short ? 5 : 40);
  if (!known && *rc::gen::arbitrary<bool>()) {
    const int most = is_short ? 9 : 900;
    text += *rc::gen::element<std::string>("e", "E", "e+", "E-", "e-0");
    text += std::to_string(*rc::gen::inRange(0, most));
  }
  return text;
}

using MakeNumber = std::function<std::string()>;

/// `number` stands beside members that Part knows, and `known` in them.
std::string Document(const MakeNumber& number, const MakeNumber& known) {
  std::string text = R"({"a":)" + number() + R"(,"in":{"known":)" + known() + R"(,"more":[)" +
                     number() + R"(,{"x":)" + number() + R"(}]},"known":)" + known();
  text += R"(,"list":[)" + known() + "," + known() + R"(],"n":1,"others":[{"x":)" + number();
  return text + "},[" + number() + "]]}";
}

std::string WithN(Body body, int n) {
  Json tree = body.json();
  tree["n"] = n;
  return Body::FromJson(std::move(tree), body).text();
}

/// Puts it into a store, and changes it by a program that knows a part of it. Returns false if the
/// store refuses it.
bool ExpectDigitsStay(const Backend& backend, Client& things, const Key& key,
                      const std::string& text) {
  const SaveOp made = things.InsertBody(key, Body::FromText(text));
  if (made.status == OpStatus::kFailed && DetailOf(made).code == Errc::kDocument) return false;
  EXPECT_EQ(made.status, OpStatus::kDone);
  const Body stored = things.Read(key).result.body;
  EXPECT_EQ(stored.json(), Body::FromText(text).json());
  if (backend.keeps_literals) {
    EXPECT_EQ(TextOf(stored), text);
  }
  const LockManager manager(backend.store);
  const LockingRepository<Part> parts(manager, "things");
  {
    auto part = parts.Lock(key);
    part->n = 2;
    part.Save();
    EXPECT_EQ(TextOf(things.Read(key).result.body), WithN(stored, 2));
    part->n = 3;
    part.Release();
  }
  EXPECT_EQ(TextOf(things.Read(key).result.body), WithN(stored, 3));
  parts.Update(key, [](Part& part) { part.n = 4; });
  auto found = parts.Find(key).value();
  found->n = 5;
  parts.Save(found);
  EXPECT_EQ(TextOf(things.Read(key).result.body), WithN(stored, 5));
  found->known = 0.125;
  parts.Save(found);
  Json changed = stored.json();
  changed["n"] = 5;
  changed["known"] = 0.125;
  EXPECT_EQ(TextOf(things.Read(key).result.body), Body::FromJson(changed, stored).text());
  return true;
}

TEST_P(StoreConformance, NumbersThatAProgramDoesNotChangeKeepTheirDigits) {
  int played = 0, stored = 0;
  EXPECT_TRUE(rc::check([&] {
    ++played;
    const bool is_short = *rc::gen::arbitrary<bool>();
    const std::string text =
        Document([&] { return Number(is_short, false); }, [&] { return Number(is_short, true); });
    if (ExpectDigitsStay(backend(), things_, Key(FreshId()), text)) ++stored;
  }));
  EXPECT_GE(stored, played / 5);
  EXPECT_GT(stored, 0);
}

TEST_P(StoreConformance, EachNumberIsStoredWithItsDigitsOrRefusedByItsPath) {
  for (const std::string number :
       {"12345678901234567.89", "18446744073709551617", "1.50", "0.12345678901234567890123",
        "1e400", "-1e-400", "-0", "18446744073709551615", "-9223372036854775809", "1E+2"}) {
    const Key key(FreshId());
    const bool is_whole = number.find_first_of(".e") == number.npos;
    const std::string text =
        Document([&] { return number; }, [&] { return is_whole ? "1.50" : number; });
    if (ExpectDigitsStay(backend(), things_, key, text)) continue;
    EXPECT_EQ(things_.Read(key).status, OpStatus::kMissing) << number;
    const SaveOp refused =
        things_.InsertBody(key, Body::FromText(R"({"a":{"b":[1,)" + number + "]}}"));
    const OpDetail& detail = DetailOf(refused);
    EXPECT_NE(detail.message.find("a.b[1]"), std::string::npos) << detail.message;
  }
}

}  // namespace
}  // namespace doclock::conformance
