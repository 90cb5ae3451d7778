#pragma once

#include <optional>

#include "doclock/body.h"
#include "sqlite/db/connection.h"
#include "sqlite/locks/lock_columns.h"
#include "sqlite/schema/sqlite_collection.h"

namespace doclock::sqlite {

/// A row and its body.
struct StoredDocument {
  LockColumns lock;
  Body body;
};

/// Nothing: there is none.
std::optional<StoredDocument> FindDocument(Connection& connection,
                                           const SqliteCollection& collection, const Key& key);

}  // namespace doclock::sqlite
