#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "postgresql/client/connection.h"
#include "postgresql/query/search.h"
#include "postgresql/tables/postgresql_collection.h"
#include "postgresql/tables/rows.h"

namespace doclock::postgresql {

/// A search, in a transaction that has begun. Throws Refusal and Loss.
class Scan {
 public:
  /// @param now what is locked then counts as locked
  Scan(Connection& connection, Deadline deadline, const PostgresqlCollection& collection,
       TimePoint now)
      : connection_(connection), deadline_(deadline), collection_(collection), now_(now) {}

  struct Order {
    std::string by;    ///< The expressions to sort by; empty: in any order.
    bool few = false;  ///< A few rows are wanted: then an index with the order is worth its walk.
  };

  /// Shows the documents that meet the filter, in its order, until `visit` returns false or its
  /// limit is reached, in the memory of a page.
  /// @param whole with an order: shall the bodies have what the filter does not name?
  void Run(const Filter& filter, bool whole, const std::function<bool(QueryRow&&)>& visit);

  /// Shows the rows that `where` selects until `visit` returns false, in the memory of a page.
  /// @param body the expression of its text
  void ForEachRow(std::string_view body, const Where& where, const Order& order,
                  const std::function<bool(FoundRow&&)>& visit);

 private:
  using Visit = std::function<bool(QueryRow&&)>;

  /// False: `visit` did not want more. (Likewise below.)
  bool RunPass(const Filter& filter, const Pass& pass, const Visit& visit);
  /// Shows rows with their bodies, and clears `rows`.
  bool ShowWhole(std::vector<QueryRow>& rows, const Visit& visit);

  Connection& connection_;
  const Deadline deadline_;
  const PostgresqlCollection& collection_;
  const TimePoint now_;
};

}  // namespace doclock::postgresql
