#pragma once

#include <span>
#include <string>
#include <vector>

#include "postgresql/client/connection.h"

namespace doclock::postgresql {

/// A value that a statement is given, and its type.
struct Given {
  std::string name, type;
};

/// An update of the rows of keys, where they meet a condition: of one key, or of many in one
/// statement, which passes over rows that a transaction keeps.
class RowUpdate {
 public:
  /// @param given behind the key's columns. The other texts name them as `given.name`, and
  /// `changes` and `returns` the time as `given.now`.
  /// @param timed does the condition depend on the time? While a statement waits for a row, the
  /// time passes, and its condition may not be looked at again.
  RowUpdate(const std::string& table, const std::vector<Given>& given, const std::string& condition,
            const std::string& changes, const std::string& returns, bool timed = false);

  /// Queues it. Of each row that was changed, the result has which of the keys' it is, from 1 on,
  /// and then `returns`.
  /// @param keys the values of each key
  /// @param may_wait may the row of a single key be waited for? Only if this is all of its
  /// transaction, which then holds none that others wait for.
  /// @return as Connection::Send
  std::size_t Send(Connection& connection, std::span<const Parameters* const> keys,
                   bool may_wait) const;

 private:
  std::vector<std::string> types_;
  bool timed_;
  Statement one_, many_;
};

}  // namespace doclock::postgresql
