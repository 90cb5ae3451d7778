#pragma once

#include <mongoc/mongoc.h>

#include <chrono>
#include <string>
#include <string_view>

#include "mongodb/client/set_names.h"

namespace doclock::mongodb {

/// Whether a name server has answered that a mongodb+srv: URI's name does not exist or has no such
/// record, by the driver's words.
bool HasNoRecord(std::string_view driver_says) noexcept;

/// Connections with one timeout for answers: libmongoc bounds a call only by the pool's
/// socketTimeoutMS. Thread-safe.
class Pool {
 public:
  /// Connections to `uri`, with these bounds. `listener` hears the first answer of each server; it
  /// must outlive this.
  /// @throws std::invalid_argument
  Pool(const mongoc_uri_t* uri, std::chrono::milliseconds socket_timeout,
       std::chrono::milliseconds selection_timeout, SetNames* listener = nullptr);
  /// Borrows the program's pool, which must outlive this. Its own URI bounds its calls.
  explicit Pool(mongoc_client_pool_t* borrowed, std::chrono::milliseconds socket_timeout)
      : pool_(borrowed), owned_(false), socket_timeout_(socket_timeout) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  [[nodiscard]] mongoc_client_pool_t* get() const noexcept { return pool_; }
  [[nodiscard]] std::chrono::milliseconds socket_timeout() const noexcept {
    return socket_timeout_;
  }

 private:
  mongoc_client_pool_t* pool_ = nullptr;
  bool owned_ = true;
  std::chrono::milliseconds socket_timeout_;
};

/// One connection in use; empty if all stayed in use for too long.
class Session {
 public:
  explicit Session(const Pool& pool)
      : pool_(pool.get()), client_(mongoc_client_pool_pop(pool.get())) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (client_ != nullptr) mongoc_client_pool_push(pool_, client_);
  }
  [[nodiscard]] mongoc_client_t* client() const noexcept { return client_; }

 private:
  mongoc_client_pool_t* pool_;
  mongoc_client_t* client_;
};

using CollectionHandle = Owned<mongoc_collection_t>;

/// The driver's handle of a collection. It reads from the primary at `level`, a level of read
/// concerns (null: that of the session, or the server's): what the URI or the user's pool says of
/// reads is for other programs.
CollectionHandle HandleOf(mongoc_client_t* client, const std::string& database,
                          const std::string& collection, const char* level);

}  // namespace doclock::mongodb
