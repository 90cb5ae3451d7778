// Rows that another program wrote into a collection on PostgreSQL: they are read without a fault,
// what is told of them is within its bounds, and the rules never grant a lock that is live. And
// bodies: what is stored of one is JSON of the same value.
//
// An input that begins with '{' or '[' is a body. Any other has the columns of a row in their
// order: a byte, which is 255 for NULL and else the length, and then so many bytes.

#include "doclock/document.h"
#include "doclock/errors.h"
#include "fuzz/support/fuzz.h"
#include "fuzz/support/rules.h"
#include "postgresql/tables/rows.h"
#include "postgresql/tables/texts.h"

namespace doclock::fuzz {
namespace {

/// More than any lock of PostgreSQL's own times: two of its ranges.
constexpr std::int64_t kLongestMs = std::int64_t{1} << 53;

std::vector<std::string> ColumnNames() {
  std::vector<std::string> names;
  std::string name;
  for (const char c : std::string(postgresql::kReadColumns) + "body,") {
    if (c == ',') names.push_back(std::exchange(name, {}));
    if (c != ',' && c != ' ') name += c;
  }
  return names;
}

postgresql::Result RowOf(Bytes& bytes) {
  static std::vector<std::string> names = ColumnNames();
  postgresql::Result result(PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK));
  // Their types: int2 (21), int8 (20), text (25), uuid (2950), timestamptz (1184), jsonb (3802).
  constexpr Oid kTypes[] = {21, 20,   25, 20,   2950, 1184, 20,   1184, 1184,
                            20, 3802, 25, 2950, 2950, 3802, 3802, 25};
  std::vector<PGresAttDesc> columns;
  for (std::string& name : names) {
    columns.push_back({name.data(), 0, 0, 1, kTypes[columns.size()], -1, -1});
  }
  PQsetResultAttrs(result.get(), static_cast<int>(columns.size()), columns.data());
  for (int i = 0; i < static_cast<int>(columns.size()); ++i) {
    const auto length = bytes.Take<std::uint8_t>();
    std::string value(bytes.Take(length == 255 ? 0 : length));
    PQsetvalue(result.get(), 0, i, value.data(),
               length == 255 ? -1 : static_cast<int>(value.size()));
  }
  return result;
}

void TryRow(Bytes bytes) {
  const postgresql::Result result = RowOf(bytes);
  try {
    const postgresql::FoundRow found = postgresql::ReadRow(result, 0);
    Require(postgresql::ColumnsOf(found.key).text.find('\0') == std::string::npos,
            "a key has no U+0000 in its column");
    if (found.malformed) return;
    for (const std::int64_t micros : {std::int64_t{0}, std::int64_t{800'000'000'000'000}}) {
      TryRules(Collected(), found.entry.lock, TimePoint(std::chrono::microseconds(micros)),
               kLongestMs);
    }
  } catch (const postgresql::Loss&) {  // a value is not one of its column's type
  } catch (const StoreException& error) {
    Require(error.errc() == Errc::kMalformed, "what cannot be read is malformed");
  }
}

void TryBody(const std::string& text) {
  try {
    const Body body = Body::FromText(text);
    postgresql::CheckForJsonb(body);
    const Body stored = Body::FromText(postgresql::JsonbOf(body));
    Require(stored.json() == body.json(), "what is stored is the body");
  } catch (const DocumentException&) {  // it is no body, or none that PostgreSQL holds
  }
}

}  // namespace
}  // namespace doclock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace doclock::fuzz;
  if (size == 0 || size > kLongestInput) return 0;
  if (data[0] == '{' || data[0] == '[') {
    TryBody(std::string(TextOf(data, size)));
  } else {
    TryRow(Bytes(data, size));
  }
  return 0;
}
