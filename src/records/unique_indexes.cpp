#include "records/unique_indexes.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "doclock/errors.h"
#include "document/json/row_filter.h"

namespace doclock::records {
namespace {

using Json = nlohmann::json;
using Values = std::vector<Json>;

/// {"unique": [["number"], ["customer", "day"]]}
constexpr const char* kUnique = "unique";

std::string NameOf(const Json& fields) {
  std::string name;
  for (const Json& field : fields) {
    if (!name.empty()) name += ',';
    name += field.get_ref<const std::string&>();
  }
  return name;
}

/// Nothing if a field is missing or null: the document conflicts with none then.
std::optional<Values> ValuesOf(const Json& fields, const Body& body) {
  Values values;
  for (const Json& field : fields) {
    const auto path = Filter().OrderBy(field.get_ref<const std::string&>()).order();
    values.push_back(ValueAt(TreeOf(body), path));
    if (values.back().is_null()) return std::nullopt;
  }
  return values;
}

bool AreRepeated(const Values& a, const Values& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), Repeats);
}

Json UniqueOf(RecordStore::Transaction& transaction) {
  const Json settings = transaction.Settings();
  return settings.is_object() && settings.contains(kUnique) ? settings.at(kUnique) : Json::array();
}

bool IsRepeated(RecordStore::Transaction& transaction, const Json& fields, const Key& key,
                const Values& values) {
  bool repeated = false;
  transaction.Scan([&](const Key& other, Record&& record) {
    const auto others = other == key ? std::nullopt : ValuesOf(fields, record.body);
    repeated = others && AreRepeated(values, *others);
    return !repeated;
  });
  return repeated;
}

void CheckAll(RecordStore::Transaction& transaction, const Json& fields) {
  std::vector<Values> all;
  transaction.Scan([&](const Key&, Record&& record) {
    if (auto values = ValuesOf(fields, record.body)) all.push_back(*std::move(values));
    return true;
  });
  for (auto values = all.begin(); values != all.end(); ++values) {
    const auto same = [&](const Values& other) { return AreRepeated(*values, other); };
    if (std::none_of(std::next(values), all.end(), same)) continue;
    throw ConflictException(
        "doclock: documents already repeat values of the index " + NameOf(fields), std::nullopt,
        std::nullopt, NameOf(fields));
  }
}

}  // namespace

std::optional<std::string> RefusingIndex(RecordStore::Transaction& transaction, const Key& key,
                                         const Body& body) {
  for (const Json& fields : UniqueOf(transaction)) {
    const std::optional<Values> values = ValuesOf(fields, body);
    if (values && IsRepeated(transaction, fields, key, *values)) return NameOf(fields);
  }
  return std::nullopt;
}

void AddIndex(RecordStore::Transaction& transaction, const IndexSpec& spec) {
  if (!WithoutKey(spec).unique) return;
  Json unique = UniqueOf(transaction);
  const Json fields = spec.fields;
  if (std::find(unique.begin(), unique.end(), fields) != unique.end()) return;
  CheckAll(transaction, fields);
  unique.push_back(fields);
  transaction.PutSettings({{kUnique, unique}});
}

}  // namespace doclock::records
