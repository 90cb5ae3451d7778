#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doclock/store/store.h"
#include "postgresql/client/connection.h"
#include "postgresql/tables/postgresql_collection.h"

namespace doclock::postgresql {

/// What the server says of itself, of this user, and of a collection.
struct Facts {
  std::string version;             ///< Of the server.
  std::string schema;              ///< That of the tables.
  std::string unsafe;              ///< Its settings that are off, and that a crash needs.
  std::string synchronous_commit;  ///< The user's own default.
  std::int64_t followers = 0;      ///< Servers that follow this one.
  bool waits_for_followers = false;
  bool has_pooler = false;
  bool shares_sessions = false;  ///< It gives each transaction another session.
  bool knows_epoch = true;       ///< Do versions rise above those of the servers before?
  /// Of the oldest transaction of others that keeps dead rows.
  std::optional<std::chrono::seconds> open_for;
  std::int64_t ageless = 0;  ///< Such transactions whose age the user may not see.
  std::int64_t lacking = 0;  ///< How many privileges the user lacks.
  std::string lacks;         ///< The first of them.
  bool creates = true;       ///< May the user create tables?
  bool has_table = true;     ///< Is there that of the collection, or any?
  std::string filtered;      ///< A table that row security hides a part of.
  struct Rows {
    std::int64_t live, dead;
  };
  std::optional<Rows> rows;  ///< Of the collection; an estimate.
};

/// Asks for all of them. @param collection may be null. @throws Loss, Refusal
Facts ReadFacts(Connection& connection, const std::string& schema,
                const PostgresqlCollection* collection, Deadline deadline);

std::vector<Finding> Judge(const Facts& facts);

/// See Store::Examine. @throws Loss
std::vector<Finding> Examine(Connection& connection, const std::string& schema,
                             const PostgresqlCollection* collection, Deadline deadline);

}  // namespace doclock::postgresql
