#include "records/unique_indexes.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

#include "document/collection.h"
#include "document/json/row_filter.h"

namespace doclock::records {
namespace {

using Json = nlohmann::json;
using Fields = std::vector<std::string>;

/// {"unique": [["number"], ["customer", "day"]]}
constexpr const char* kUnique = "unique";

Json UniqueOf(RecordStore::Transaction& transaction, const std::string& collection) {
  const Json settings = transaction.Settings(collection);
  return settings.is_object() && settings.contains(kUnique) ? settings.at(kUnique) : Json::array();
}

/// Returns a filter of all records that may repeat these values, so that the store can look for
/// them.
Filter ThatMayRepeat(const Fields& fields, const UniqueValues& values) {
  Filter filter;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    try {
      filter.Equal(fields[i], values[i]);
    } catch (const std::invalid_argument&) {  // no filter compares arrays, for instance
    }
  }
  return filter;
}

void CheckAll(RecordStore::Transaction& transaction, const std::string& collection,
              const Fields& fields) {
  std::vector<std::optional<UniqueValues>> all;
  transaction.Scan(collection, Filter(), [&](const Key&, Record&& record) {
    all.push_back(UniqueValuesOf(fields, record.body));
    return true;
  });
  for (auto values = all.begin(); values != all.end(); ++values) {
    const auto same = [&](const auto& other) { return Repeat(*values, other); };
    if (std::any_of(std::next(values), all.end(), same)) ThrowRepeatedValues(fields);
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
  for (const Json& index : IndexesOf(collection)) {
    const auto fields = index.get<Fields>();
    if (IsRepeated(collection, fields, key, body)) return FieldList(fields);
  }
  return std::nullopt;
}

void UniqueCheck::Accept(const std::string& collection, const Key& key, const Body& body) {
  accepted_.push_back({collection, key, body});
}

bool UniqueCheck::IsRepeated(const std::string& collection, const Fields& fields, const Key& key,
                             const Body& body) {
  const std::optional<UniqueValues> values = UniqueValuesOf(fields, body);
  if (!values) return false;
  const auto repeats = [&](const Body& other) {
    return Repeat(values, UniqueValuesOf(fields, other));
  };
  const auto is_accepted = [&](const Key& other) {
    return std::any_of(accepted_.begin(), accepted_.end(), [&](const Accepted& accepted) {
      return accepted.collection == collection && accepted.key == other;
    });
  };
  bool repeated = std::any_of(accepted_.begin(), accepted_.end(), [&](const Accepted& accepted) {
    return accepted.collection == collection && repeats(accepted.body);
  });
  transaction_.Scan(
      collection, ThatMayRepeat(fields, *values), [&](const Key& other, Record&& record) {
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
  CheckAll(transaction, collection, spec.fields);
  unique.push_back(fields);
  transaction.PutSettings(collection, {{kUnique, unique}});
  return true;
}

}  // namespace doclock::records
