#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "postgresql/client/connection.h"
#include "postgresql/tables/postgresql_collection.h"
#include "postgresql/tables/rows.h"
#include "sql/search.h"

namespace doclock::postgresql {

/// A search, in a transaction that has begun. Throws Refusal and Loss.
class Scan {
 public:
  /// @param now what is locked then counts as locked
  Scan(Connection& connection, Deadline deadline, const PostgresqlCollection& collection,
       TimePoint now)
      : connection_(connection), deadline_(deadline), collection_(collection), now_(now) {}

  /// Shows the documents that meet the filter, in its order, until `visit` returns false or its
  /// limit is reached, in the memory of a page.
  /// @param whole with an order: shall the bodies have what the filter does not name?
  void Run(const Filter& filter, bool whole, const std::function<bool(QueryRow&&)>& visit);

  /// Shows the rows of a SELECT until `visit` returns false, in the memory of a page.
  /// @param body the expression of its text
  /// @param few a few rows are wanted: then an index with the order is worth its walk
  void ForEachRow(std::string_view body, const sql::Select& select, bool few,
                  const std::function<bool(FoundRow&&)>& visit);

 private:
  /// Shows rows with their bodies, clears `rows`, and returns whether `visit` wants more.
  bool ShowWhole(std::vector<QueryRow>& rows, const std::function<bool(QueryRow&&)>& visit);

  Connection& connection_;
  const Deadline deadline_;
  const PostgresqlCollection& collection_;
  const TimePoint now_;
};

}  // namespace doclock::postgresql
