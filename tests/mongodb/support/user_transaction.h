#pragma once

#include <mongoc/mongoc.h>

#include <stdexcept>
#include <string>

#include "mongodb/bson/bson.h"

namespace doclock::mongo_test {

/// A transaction of another program that has changed one document, or created it, and stays open
/// while this lives.
class UserTransaction {
 public:
  UserTransaction(const std::string& uri, const std::string& database,
                  const std::string& collection, const std::string& key)
      : client_(mongoc_client_new(uri.c_str())) {
    bson_error_t error{};
    session_ = mongoc_client_start_session(client_, nullptr, &error);
    bool done =
        session_ != nullptr && mongoc_client_session_start_transaction(session_, nullptr, &error);
    if (done) {
      mongodb::Doc statement;
      statement.Add("q", mongodb::Doc::Of("_id", std::string_view(key)));
      statement.Add("u", mongodb::Doc::Of("$set", mongodb::Doc::Of("touched", true)));
      statement.Add("upsert", true);
      mongodb::Doc command;
      command.Add("update", std::string_view(collection));
      command.Add("updates", mongodb::Array().Add(statement));
      mongodb::Doc options;
      done = mongoc_client_session_append(session_, options.get(), &error) &&
             mongoc_client_command_with_opts(client_, database.c_str(), command.get(), nullptr,
                                             options.get(), nullptr, &error);
    }
    if (done) return;
    Close();
    throw std::runtime_error(error.message);
  }
  UserTransaction(const UserTransaction&) = delete;
  UserTransaction& operator=(const UserTransaction&) = delete;
  ~UserTransaction() { Close(); }

  /// A further command in it. @throws std::runtime_error
  void Run(const std::string& database, const mongodb::Doc& command) {
    mongodb::Doc options;
    bson_error_t error{};
    if (!mongoc_client_session_append(session_, options.get(), &error) ||
        !mongoc_client_command_with_opts(client_, database.c_str(), command.get(), nullptr,
                                         options.get(), nullptr, &error)) {
      throw std::runtime_error(error.message);
    }
  }

 private:
  void Close() {
    if (session_ != nullptr) mongoc_client_session_destroy(session_);  // aborts
    mongoc_client_destroy(client_);
  }

  mongoc_client_t* client_;
  mongoc_client_session_t* session_ = nullptr;
};

}  // namespace doclock::mongo_test
