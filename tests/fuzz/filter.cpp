// Filters over documents: the memory store, SQLite with indexes and without, and the filter itself
// choose the same documents in the same order. MongoDB's form of a filter is sound BSON.
//
// A line of the input is a body (`{"a":1}`), a condition (`= a.b "text"`; also ! < [ > ] for the
// others), an order (`^ a`, `v a`) or a limit (`# 2`).

#include <array>
#include <map>
#include <memory>
#include <stdexcept>

#include "doclock/detail/engine.h"
#include "doclock/document.h"
#include "doclock/errors.h"
#include "doclock/open_store.h"
#include "document/json/same_json.h"
#include "fuzz/support/fuzz.h"
#ifdef DOCLOCK_WITH_SQLITE
#include "doclock/stores/sqlite.h"
#include "process/temp_folder.h"
#endif
#ifdef DOCLOCK_WITH_MONGODB
#include "mongodb/bson/body_codec.h"
#include "mongodb/query/query.h"
#endif

namespace doclock::fuzz {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr std::size_t kDocuments = 4;
constexpr auto kBudget = 30s;

/// A collection of one store, whose documents have the keys 0 to kDocuments - 1.
class Shelf {
 public:
  explicit Shelf(std::shared_ptr<Store> store, const std::string& name = "things")
      : store_(std::move(store)), collection_(store_->Open(name, {}, 30s)) {}

  void Index(std::vector<std::string> fields) {
    store_->EnsureIndex(*collection_, {.fields = std::move(fields)});
  }

  void Put(const std::vector<Body>& bodies) {
    for (std::size_t i = 0; i < kDocuments; ++i) {
      Erase(i);
      if (i < bodies.size()) Insert(i, bodies[i]);
    }
  }

  [[nodiscard]] std::vector<std::int64_t> Find(const Filter& filter,
                                               const std::vector<Body>& bodies) {
    std::vector<std::int64_t> found;
    const auto sink = [&](QueryRow&& row) {
      const std::int64_t key = std::get<std::int64_t>(row.key.value());
      found.push_back(key);
      const Body& body = bodies.at(static_cast<std::size_t>(key));
      Require(detail::IsSameJson(row.body.json(), body.json()), "a body is read as it was written");
      return true;
    };
    store_->Query(*collection_, filter, sink, kBudget);
    return found;
  }

 private:
  void Erase(std::size_t i) {
    const Key key(i);
    SaveOp op(*collection_, key);
    op.request.save = SaveKind::kErase;
    Execute(op);
  }
  void Insert(std::size_t i, const Body& body) {
    const Key key(i);
    SaveOp op(*collection_, key);
    op.request.save = SaveKind::kInsert;
    op.request.write_id = NewUuid();
    op.request.body = body;
    Execute(op);
    Require(op.status == OpStatus::kDone, "a checked body can be stored");
  }
  void Execute(StoreOp& op) {
    StoreOp* const one[] = {&op};
    store_->Execute(one, kBudget);
  }

  std::shared_ptr<Store> store_;
  std::shared_ptr<Collection> collection_;
};

/// The same documents in each.
std::map<std::string, Shelf>& Shelves() {
  static std::map<std::string, Shelf> shelves = [] {
    std::map<std::string, Shelf> all;
    all.emplace("memory", Shelf(OpenMemoryStore()));
#ifdef DOCLOCK_WITH_SQLITE
    static const test::TempFolder folder;
    const auto sqlite = OpenSqliteStore(folder / "f.db", {.sync = SqliteSync::kOff});
    all.emplace("SQLite", Shelf(sqlite));
    Shelf indexed(sqlite, "indexed");
    indexed.Index({"a"});
    indexed.Index({"a", "b"});
    all.emplace("SQLite with indexes", std::move(indexed));
#endif
    return all;
  }();
  return shelves;
}

struct Input {
  std::vector<Body> bodies;
  Filter filter;
};

void AddBody(Input& input, const std::string& line) {
  if (input.bodies.size() == kDocuments) return;
  try {
    const Body body = Body::FromText(line);
    detail::CheckBody(body, {});
    input.bodies.push_back(Body::FromJson(body.json()));
  } catch (const DocumentException&) {
    // No body, or none that may be stored.
  }
}

void AddCondition(Filter& filter, char op, const std::string& field, std::string_view text) {
  json value = json::parse(text, nullptr, false);
  if (value.is_discarded()) return;
  switch (op) {
    case '=':
      filter.Equal(field, std::move(value));
      break;
    case '!':
      filter.NotEqual(field, std::move(value));
      break;
    case '<':
      filter.Less(field, std::move(value));
      break;
    case '[':
      filter.AtMost(field, std::move(value));
      break;
    case '>':
      filter.Greater(field, std::move(value));
      break;
    default:
      filter.AtLeast(field, std::move(value));
  }
}

void AddRule(Input& input, std::string_view line) {
  const std::string kind = TakeWord(line);
  if (kind.size() != 1) return;
  try {
    if (kind == "#") {
      input.filter.Limit(line.empty() ? 1 : line.front() - '0');
    } else if (kind == "^" || kind == "v") {
      kind == "^" ? input.filter.OrderBy(line) : input.filter.OrderByDescending(line);
    } else if (std::string_view("=!<[>]").find(kind) != std::string_view::npos) {
      const std::string field = TakeWord(line);
      AddCondition(input.filter, kind.front(), field, line);
    }
  } catch (const std::logic_error&) {
    // Such a condition cannot be asked for, nor a second order.
  }
}

Input Read(std::string_view text) {
  constexpr std::size_t kLines = 12;
  Input input;
  for (const std::string& line : LinesOf(text, kLines)) {
    line.starts_with('{') ? AddBody(input, line) : AddRule(input, line);
  }
  return input;
}

std::string Print(const std::vector<std::int64_t>& keys) {
  std::string text;
  for (const std::int64_t key : keys) text += " " + std::to_string(key);
  return text;
}

/// What the filter itself says, without order.
void CheckMatches(const Input& input, const std::vector<std::int64_t>& found) {
  std::size_t matching = 0;
  for (std::size_t i = 0; i < input.bodies.size(); ++i) {
    const bool matches = input.filter.Matches(static_cast<std::int64_t>(i), input.bodies[i].json());
    const bool shown = std::count(found.begin(), found.end(), static_cast<std::int64_t>(i)) == 1;
    matching += matches ? 1 : 0;
    Require(!shown || matches, "a document that is shown meets the conditions");
    Require(shown || !matches || input.filter.limit() > 0, "a matching document is shown");
  }
  const auto limit = static_cast<std::size_t>(input.filter.limit());
  Require(found.size() == (limit > 0 ? std::min(limit, matching) : matching), "the limit is met");
}

void CheckOrder(const Input& input, const std::vector<std::int64_t>& found) {
  if (input.filter.order().empty()) return;
  const auto value = [&](std::int64_t key) -> const json& {
    return ValueAt(input.bodies[static_cast<std::size_t>(key)].json(), input.filter.order());
  };
  for (std::size_t i = 1; i < found.size(); ++i) {
    const int order = CompareValues(value(found[i - 1]), value(found[i]));
    Require(input.filter.descending() ? order >= 0 : order <= 0, "the order is kept");
    Require(order != 0 || found[i - 1] < found[i], "ties go by key");
  }
}

#ifdef DOCLOCK_WITH_MONGODB
/// Texts are UTF-8, and may hold NUL.
constexpr auto kSound =
    static_cast<bson_validate_flags_t>(BSON_VALIDATE_UTF8 | BSON_VALIDATE_UTF8_ALLOW_NULL);

void CheckSound(const mongodb::Doc& doc) {
  Require(bson_validate(doc.get(), kSound, nullptr), "a query is sound BSON");
}

void CheckValue(const json& value) {
  mongodb::Doc doc;
  mongodb::AppendValue(doc, "v", value);
  bson_iter_t iter;
  Require(mongodb::FindField(*doc.get(), "v", iter), "a value is put into BSON");
  Require(detail::IsSameJson(mongodb::ReadValue(iter), value), "a value comes back out of BSON");
}

void CheckBson(const Filter& filter) {
  try {
    CheckSound(mongodb::MatchOf(filter));
    for (const mongodb::Pass& pass : mongodb::PassesOf(filter)) {
      CheckSound(pass.match);
      CheckSound(pass.sort);
    }
  } catch (const std::invalid_argument&) {
    return;  // MongoDB cannot name the field
  }
  for (const Filter::Condition& condition : filter.conditions()) CheckValue(condition.value);
}
#endif

void Try(const Input& input) {
  std::map<std::string, std::vector<std::int64_t>> found;
  for (auto& [name, shelf] : Shelves()) {
    shelf.Put(input.bodies);
    found[name] = shelf.Find(input.filter, input.bodies);
  }
  const std::vector<std::int64_t>& expected = found.at("memory");
  CheckMatches(input, expected);
  CheckOrder(input, expected);
  for (const auto& [name, keys] : found) {
    Require(keys == expected, name + " shows" + Print(keys) + ", memory" + Print(expected));
  }
#ifdef DOCLOCK_WITH_MONGODB
  CheckBson(input.filter);
#endif
}

}  // namespace
}  // namespace doclock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace doclock::fuzz;
  if (size <= kLongestInput) Try(Read(TextOf(data, size)));
  return 0;
}
