#include "records/unique_indexes.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "document/collection.h"
#include "document/json/row_filter.h"

namespace doclock::records {
namespace {

using Json = nlohmann::json;
using Values = std::vector<Json>;
using Fields = std::vector<std::string>;

/// {"unique": [["number"], ["customer", "day"]]}
constexpr const char* kUnique = "unique";

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

Json UniqueOf(RecordStore::Transaction& transaction, const std::string& collection) {
  const Json settings = transaction.Settings(collection);
  return settings.is_object() && settings.contains(kUnique) ? settings.at(kUnique) : Json::array();
}

void CheckAll(RecordStore::Transaction& transaction, const std::string& collection,
              const Json& fields) {
  std::vector<Values> all;
  transaction.Scan(collection, Filter(), [&](const Key&, Record&& record) {
    if (auto values = ValuesOf(fields, record.body)) all.push_back(*std::move(values));
    return true;
  });
  for (auto values = all.begin(); values != all.end(); ++values) {
    const auto same = [&](const Values& other) { return AreRepeated(*values, other); };
    if (std::none_of(std::next(values), all.end(), same)) continue;
    ThrowRepeatedValues(fields.get<Fields>());
  }
}

}  // namespace

const Json& UniqueCheck::IndexesOf(const std::string& collection) {
  const auto [found, fresh] = indexes_.try_emplace(collection);
  if (fresh) found->second = UniqueOf(transaction_, collection);
  return found->second;
}

std::optional<std::string> UniqueCheck::Refusing(const std::string& collection, const Key& key,
                                                 const Body& body) {
  for (const Json& fields : IndexesOf(collection)) {
    if (IsRepeated(collection, fields, key, body)) return FieldList(fields.get<Fields>());
  }
  return std::nullopt;
}

void UniqueCheck::Accept(const std::string& collection, const Key& key, const Body& body) {
  accepted_.push_back({collection, key, body});
}

bool UniqueCheck::IsRepeated(const std::string& collection, const Json& fields, const Key& key,
                             const Body& body) {
  const std::optional<Values> values = ValuesOf(fields, body);
  if (!values) return false;
  const auto repeats = [&](const Body& other) {
    const std::optional<Values> others = ValuesOf(fields, other);
    return others && AreRepeated(*values, *others);
  };
  const auto is_accepted = [&](const Key& other) {
    return std::any_of(accepted_.begin(), accepted_.end(), [&](const Accepted& accepted) {
      return accepted.collection == collection && accepted.key == other;
    });
  };
  bool repeated = std::any_of(accepted_.begin(), accepted_.end(), [&](const Accepted& accepted) {
    return accepted.collection == collection && repeats(accepted.body);
  });
  transaction_.Scan(collection, Filter(), [&](const Key& other, Record&& record) {
    repeated = repeated || (other != key && !is_accepted(other) && repeats(record.body));
    return !repeated;
  });
  return repeated;
}

bool AddIndex(RecordStore::Transaction& transaction, const std::string& collection,
              const IndexSpec& spec) {
  if (!WithoutKey(spec).unique) return false;
  transaction.LockCollection(collection);
  Json unique = UniqueOf(transaction, collection);
  const Json fields = spec.fields;
  if (std::find(unique.begin(), unique.end(), fields) != unique.end()) return false;
  CheckAll(transaction, collection, fields);
  unique.push_back(fields);
  transaction.PutSettings(collection, {{kUnique, unique}});
  return true;
}

}  // namespace doclock::records
