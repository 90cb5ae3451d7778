#pragma once

#include <mongoc/mongoc.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "doclock/errors.h"
#include "doclock/mongodb_store.h"
#include "mongo/bson.h"

namespace doclock::mongo {

/// How a command ended.
enum class Outcome : std::uint8_t {
  kAnswered,  ///< The server did it, or told of single writes that failed.
  kRefused,   ///< The server will not; nothing was done.
  kNotSent,   ///< No server was there, nothing was sent; or it failed before any effect.
  kDoubt,     ///< It may have been done, or be done yet.
};

/// An answer. Texts never hold a URI, a body or a lock id.
class Reply {
 public:
  Reply() { bson_init(&bson_); }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  ~Reply() { bson_destroy(&bson_); }

  [[nodiscard]] const bson_t& doc() const noexcept { return bson_; }
  bson_t* raw() noexcept { return &bson_; }
  /// An integer at the top level; 0 when there is none.
  [[nodiscard]] std::int64_t Integer(const char* name) const;
  /// Is there a document at this name? (findAndModify's "value")
  bool Document(const char* name, bson_t& found) const { return FindDocument(bson_, name, found); }
  /// cursor.firstBatch, one by one.
  template <class Visit>
  void ForEachInBatch(const Visit& visit) const {
    bson_iter_t item;
    if (!FirstBatch(item)) return;
    bson_t doc;
    while (bson_iter_next(&item)) {
      const bson_t& found = doc;
      if (DocumentAt(item, doc) && !visit(found)) return;
    }
  }

  Outcome outcome = Outcome::kAnswered;
  int code = 0;      ///< The server's, of the command or of its first write error.
  std::string text;  ///< For people.
  /// With code 11000: the fields of the index, as in IndexSpec; "_id" for the key.
  std::string duplicate;

  [[nodiscard]] bool answered() const noexcept { return outcome == Outcome::kAnswered; }
  [[nodiscard]] bool is_duplicate() const noexcept { return code == 11000; }

 private:
  bool FirstBatch(bson_iter_t& item) const;

  bson_t bson_;
};

/// What a command does, which decides what a lost reply means.
enum class Effect : std::uint8_t { kReads, kWrites };

/// One connection in use.
class Session {
 public:
  Session(mongoc_client_pool_t* pool, mongoc_client_t* client) : pool_(pool), client_(client) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { mongoc_client_pool_push(pool_, client_); }
  [[nodiscard]] mongoc_client_t* client() const noexcept { return client_; }

 private:
  mongoc_client_pool_t* pool_;
  mongoc_client_t* client_;
};

/// The server or replica set: sends commands, and says what became of them. Thread-safe.
class Server {
 public:
  /// See OpenMongodbStore.
  Server(const std::string& uri, const MongodbStoreOptions& options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  /// Runs a command on the primary. What writes must not repeat itself: the driver's own retries
  /// are off. The command must hold its write concern (AddWriteConcern).
  void Run(const Doc& command, Effect effect, Reply& reply);

  [[nodiscard]] const std::string& database() const noexcept { return database_; }
  [[nodiscard]] bool is_replica_set() const noexcept { return replica_set_; }
  [[nodiscard]] mongoc_client_pool_t* pool() const noexcept { return pool_; }
  /// Adds the write concern: a majority, within this time.
  static void AddWriteConcern(Doc& command, std::chrono::milliseconds budget);
  /// The read concern that sees all that was acknowledged.
  void AddLinearizable(Doc& command) const;

 private:
  void Greet();

  std::string database_;
  mongoc_client_pool_t* pool_ = nullptr;
  bool replica_set_ = false;
};

}  // namespace doclock::mongo
