#pragma once

#include <mongoc/mongoc.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "doclock/stores/mongodb.h"
#include "mongodb/bson/bson.h"
#include "mongodb/client/pool.h"
#include "mongodb/client/reply.h"
#include "mongodb/client/set_names.h"
#include "mongodb/client/uri.h"

namespace doclock::mongodb {

using Deadline = std::chrono::steady_clock::time_point;

/// The time until then, not below zero.
std::chrono::milliseconds Until(Deadline deadline);

inline constexpr const char* kAllInUse = "all connections of the pool are in use";

/// The uses of connections. Each use has connections of its own, so that none waits for the others.
enum class Purpose : std::uint8_t { kCalls, kRenewals };

/// The server or replica set: sends commands, and returns their outcomes. Thread-safe.
class Server {
 public:
  /// See OpenMongodbStore.
  Server(const std::string& uri, const MongodbStoreOptions& options);
  /// With the connections of a pool that outlives this.
  Server(mongoc_client_pool_t* pool, const std::string& database,
         const MongodbStoreOptions& options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  /// Connections on which no call lasts much longer than `bound`.
  Pool& For(Purpose purpose, std::chrono::milliseconds bound);
  /// Connections bounded by MongodbStoreOptions::socket_timeout.
  [[nodiscard]] Pool& main() noexcept { return *main_; }
  /// Connections for change streams.
  [[nodiscard]] Pool& streams() noexcept { return *streams_; }
  /// Reserves a connection for a change stream. Returns true; false if streams have half of a
  /// borrowed pool already, because calls need the others.
  [[nodiscard]] bool TakeStream() noexcept;
  void GiveStream() noexcept { streams_left_.fetch_add(1); }

  /// Runs a command on the primary. A write must not be repeated: the driver's own retries are off.
  /// Only a server that is not the primary is asked again: it has written nothing. The command must
  /// hold its write concern (AddWriteConcern) and its maxTimeMS. Waits for a primary until
  /// `deadline`, at most; after it, nothing is sent.
  void Run(Pool& pool, const Doc& command, Effect effect, Deadline deadline, Reply& reply) const;

  /// Runs a command on the primary once, on this connection. @param opts libmongoc's: a session;
  /// may be null. Returns true; false if no primary was found.
  bool RunOn(mongoc_client_t* client, const Doc& command, const bson_t* opts, Effect effect,
             Reply& reply) const;

  [[nodiscard]] const std::string& database() const noexcept { return database_; }
  /// How long a call waits for a primary.
  [[nodiscard]] std::chrono::milliseconds selection_timeout() const noexcept {
    return selection_timeout_;
  }
  /// The id of this store instance: its change streams ask for the grants to it.
  [[nodiscard]] const Uuid& instance() const noexcept { return instance_; }
  [[nodiscard]] bool is_replica_set() const noexcept { return replica_set_; }
  /// Adds the servers' names to the text of a command that did not reach them, or left doubt.
  void NameServers(CommandResult& result) const;
  /// Adds the write concern: a majority, within this time.
  static void AddWriteConcern(Doc& command, std::chrono::milliseconds budget);
  /// The read concern that sees all that was acknowledged.
  void AddLinearizable(Doc& command) const;

 private:
  void Greet();
  bool SendHello(Reply& hello);
  void CheckRole(const Reply& hello) const;
  void CheckVersion(const Reply& hello) const;
  void CheckNow() const;
  bool Send(const Session& session, const Doc& command, Effect effect, Reply& reply) const;

  std::string database_;
  std::string servers_;  ///< As the URI names them; for messages.
  bool direct_ = false;  ///< The URI connects to one server, whatever its role is.
  std::chrono::milliseconds selection_timeout_;
  UriPtr uri_;          ///< Null with a borrowed pool.
  SetNames set_names_;  ///< With the URI only.
  std::unique_ptr<Pool> main_;
  std::unique_ptr<Pool> own_streams_;
  Pool* streams_ = nullptr;
  std::atomic<int> streams_left_ = std::numeric_limits<int>::max();
  bool replica_set_ = false;
  const Uuid instance_ = NewUuid();
  std::mutex mutex_;
  std::map<std::pair<Purpose, std::chrono::milliseconds>, std::unique_ptr<Pool>> pools_;
};

}  // namespace doclock::mongodb
