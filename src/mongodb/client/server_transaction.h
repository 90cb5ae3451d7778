#pragma once

#include <mongoc/mongoc.h>

#include <chrono>
#include <memory>
#include <string>

#include "mongodb/bson/bson.h"
#include "mongodb/client/pool.h"
#include "mongodb/client/reply.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// A transaction of a replica set: commands that take effect together, or not at all. It has a
/// connection, and from its first write on other writers of its documents wait or fail. If it is
/// destroyed before Commit, nothing has changed. Used by one thread.
class ServerTransaction {
 public:
  /// The deadline is that of the commands and the commit.
  /// @throws StoreException if it cannot begin
  ServerTransaction(const Server& server, Pool& pool, Deadline deadline);
  ServerTransaction(const ServerTransaction&) = delete;
  ServerTransaction& operator=(const ServerTransaction&) = delete;
  ~ServerTransaction();

  // For commands of the user's own.
  [[nodiscard]] mongoc_client_t* client() const noexcept { return connection_.client(); }
  [[nodiscard]] mongoc_client_session_t* session() const noexcept { return session_.get(); }
  /// What makes a command a part of it.
  [[nodiscard]] const bson_t* opts() const noexcept { return opts_.get(); }

  /// Runs a command inside. There is no doubt before the commit: after a lost answer the
  /// transaction must not be committed, and then nothing is stored.
  void Run(Doc& command, Reply& reply);

  /// Commands of the user's own were sent to it, and may have had no answer, or come late.
  /// @param collection one that the user may read
  void Distrust(const std::string& collection);

  enum class End : std::uint8_t {
    kStored,
    kNothing,  ///< Nothing is stored, nor will be.
    kUnknown,
  };
  /// Commits. Only the server's word ends it: after any other answer it is asked again, until the
  /// deadline.
  End Commit(Reply& reply);

 private:
  struct Destroy {
    void operator()(mongoc_client_session_t* session) const noexcept {
      mongoc_client_session_destroy(session);  // aborts, if no server said that it is over
    }
  };

  End CommitOnce(Reply& reply);
  [[nodiscard]] mongoc_transaction_state_t State() const noexcept {
    return mongoc_client_session_get_transaction_state(session());
  }
  /// Whether libmongoc has sent a command in it, and has not ended it.
  [[nodiscard]] bool IsInProgress() const noexcept {
    return session_ && State() == MONGOC_TRANSACTION_IN_PROGRESS;
  }
  [[nodiscard]] bool Kill() const;
  [[nodiscard]] bool UseUp();
  [[nodiscard]] bool Abort();

  const Server& server_;
  const Deadline deadline_;
  const std::chrono::milliseconds longest_;  ///< The longest time of one command.
  Session connection_;
  std::unique_ptr<mongoc_client_session_t, Destroy> session_;
  Doc opts_;
  std::string collection_;      ///< Of the last command.
  bool may_stay_open_ = false;  ///< A command may have had no answer.
};

}  // namespace doclock::mongodb
