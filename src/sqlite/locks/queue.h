#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "rules/lock_state.h"
#include "sqlite/db/connection.h"
#include "sqlite/schema/table_names.h"

namespace doclock::sqlite {

/// A waiter's entry in the queue of a document, as stored.
struct StoredEntry {
  std::int64_t place = 0;            ///< Rises in the order of arrival.
  std::chrono::nanoseconds since{};  ///< BootClock: of the last attempt that left or refreshed it.
  std::int64_t boot = 0;             ///< The boot that the times belong to.
  std::int64_t owner = 0;            ///< In doclock_owners.
  rules::QueueEntry entry;           ///< Without its owner. `instance` is the slot of its store.
  bool malformed = false;            ///< It is not what this library writes.
};

/// The side table of a collection's waiters. The rows of a document count while its lock_queue is
/// not 0; any others were left behind, and mean nothing.
class Queue {
 public:
  Queue(Connection& connection, const TableNames& tables) noexcept
      : connection_(connection), tables_(tables) {}

  /// In the order of arrival.
  template <class Visit>
  void ForEach(std::int64_t doc, Visit visit) {
    const Running row(connection_.Prepared(tables_, Sql::kQueue));
    row->Bind(1, doc);
    while (row->Step()) visit(Read(*row));
  }
  void Put(std::int64_t doc, const StoredEntry& stored);
  void Delete(std::int64_t doc, std::int64_t place) {
    connection_.Run(tables_, Sql::kDeleteEntry, doc, place);
  }
  void DeleteAll(std::int64_t doc) { connection_.Run(tables_, Sql::kDeleteQueue, doc); }

 private:
  static StoredEntry Read(const Statement& row);

  Connection& connection_;
  const TableNames& tables_;
};

}  // namespace doclock::sqlite
