#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "doclock/store/record_store.h"

namespace doclock::records {

// The unique indexes of a collection. They are kept as its settings. A check scans for
// records with the same values.

/// Checks the bodies that one transaction is about to store.
class UniqueCheck {
 public:
  explicit UniqueCheck(RecordStore::Transaction& transaction) : transaction_(transaction) {}

  /// Has the collection unique indexes?
  bool Has(const std::string& collection) { return !IndexesOf(collection).empty(); }
  /// The unique index that refuses this body for this key, because another record has the same
  /// values, or will have them when the transaction is committed. The collection is locked.
  std::optional<std::string> Refusing(const std::string& collection, const Key& key,
                                      const Body& body);
  /// The record will have this body; none: it is erased.
  void Accept(const std::string& collection, const Key& key, const Body& body);

 private:
  struct Accepted {
    std::string collection;
    Key key;
    Body body;
  };
  const nlohmann::json& IndexesOf(const std::string& collection);
  bool IsRepeated(const std::string& collection, const std::vector<std::string>& fields,
                  const Key& key, const Body& body);

  RecordStore::Transaction& transaction_;
  std::map<std::string, nlohmann::json> indexes_;
  std::vector<Accepted> accepted_;
};

/// Adds a unique index to the collection's settings. Returns true if it added one; false if the
/// settings have it, or it is not unique.
/// @throws ConflictException if the records repeat values of it
bool AddIndex(RecordStore::Transaction& transaction, const std::string& collection,
              const IndexSpec& spec);

}  // namespace doclock::records
