#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace doclock {

/// What a store gives to CommitOp::join.
enum class NativeHandle : std::uint8_t {
  kNone,        ///< Nothing: it takes no such work.
  kSqlite,      ///< A `sqlite3*`.
  kMongodb,     ///< A `MongodbJoin*`.
  kPostgresql,  ///< What `Join` of doclock/postgresql_transaction.h makes a `PGconn*` of.
};

/// The properties of a store. Constant over its life, except clock_margin and others_may_wait.
struct StoreTraits {
  /// How many concurrent Execute calls are worthwhile; if it is more than one, one of them is for
  /// renewals alone. Reads (reads_apart), searches, purges and Commit come beside them: a store
  /// with connections needs some more than this.
  int lanes = 1;
  /// The most operations per Execute. Renewals come in batches of up to 1,000 in any case.
  std::size_t max_batch = 128;
  /// Execute never blocks and takes calls from any number of threads: no batching needed.
  bool immediate = false;
  /// An Execute call of reads alone neither waits for writes nor fails with them. The engine then
  /// sends reads by key apart: each one of a blocking caller in a call of its own, on the caller's
  /// thread, and those of asynchronous callers in one call at a time, which takes along what has
  /// queued. (The reads that settle doubt still go with the writes.) Without it reads are batched
  /// with writes.
  bool reads_apart = false;
  /// Other processes may use the same documents.
  bool shared = true;
  /// Might another process be waiting for locks right now? A cheap guess. With it a holder's
  /// process hands a lock over to its own waiters ManagerOptions::max_handovers times in a row at
  /// most.
  bool others_may_wait = true;
  /// The store keeps a queue of waiters for each document (see AcquireOp), and gives a hint to the
  /// process whose waiter was granted a lock from it. The engine leaves entries in a store that has
  /// this and is `shared`. Without it the engine neither leaves entries nor sends a kLeave.
  bool queues = false;
  /// Whether Store::Commit stores several documents together; else it refuses.
  bool transactions = false;
  /// What Store::Commit gives to CommitOp::join.
  NativeHandle native = NativeHandle::kNone;
  /// How much the clocks involved may differ during one lease; a holder gives up this much early.
  std::chrono::nanoseconds clock_margin = std::chrono::milliseconds(1);
};

}  // namespace doclock
