#pragma once

#include <bson/bson.h>

#include <cstdint>

#include "doclock/document.h"
#include "mongodb/bson/bson.h"
#include "plain/record.h"

/// Documents of MongoDB, written and read without the store's own code, after
/// docs/reference/layout.md.
namespace doclock::mongo_rules_test {

/// Ways to say the same in a document.
struct Dialect {
  bool nulls = false;   ///< What there is not is null, where that is allowed, not missing.
  bool narrow = false;  ///< Numbers are int32 where they fit.
  bool no_ttl = false;  ///< The default ttl is not written.
  /// What counts for nothing is there: shares beside a lock that is not shared, and what is no
  /// entry in the queue.
  bool remains = false;
};

/// @param now the server's time, in ms
mongodb::Doc DocumentOf(const Key& key, const plain_test::Record& record, const Dialect& dialect,
                        std::int64_t now);
/// The reverse. @throws std::runtime_error for what this library does not write
plain_test::Record RecordOf(const bson_t& document, std::int64_t now);

}  // namespace doclock::mongo_rules_test
