#pragma once

#ifdef DOCLOCK_WITH_MONGODB

#include <mongoc/mongoc.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "doclock/stores/mongodb.h"

namespace doclock::bench {

/// The server to measure on: DOCLOCK_BENCH_MONGODB names it, as `scripts/mongo.sh uri` prints it.
inline std::optional<std::string> MongodbUri() {
  const char* const uri = std::getenv("DOCLOCK_BENCH_MONGODB");
  if (uri == nullptr || *uri == '\0') return std::nullopt;
  return uri;
}

/// A database of the benchmark's own, dropped at its end, and connections that count what is sent
/// to it.
class MongodbDatabase {
 public:
  explicit MongodbDatabase(const std::string& uri_text) {
    mongoc_init();
    static std::atomic<int> count = 0;
    name_ = "doclock_bench_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
    mongoc_uri_t* const uri = mongoc_uri_new(uri_text.c_str());
    if (uri == nullptr) std::abort();
    mongoc_uri_set_option_as_int32(uri, MONGOC_URI_SOCKETTIMEOUTMS, 10'000);
    pool_ = mongoc_client_pool_new(uri);
    mongoc_uri_destroy(uri);
    mongoc_apm_callbacks_t* const callbacks = mongoc_apm_callbacks_new();
    mongoc_apm_set_command_started_cb(callbacks, &MongodbDatabase::OnStarted);
    mongoc_client_pool_set_apm_callbacks(pool_, callbacks, this);
    mongoc_apm_callbacks_destroy(callbacks);
  }
  MongodbDatabase(const MongodbDatabase&) = delete;
  MongodbDatabase& operator=(const MongodbDatabase&) = delete;
  ~MongodbDatabase() {
    mongoc_client_t* const client = mongoc_client_pool_pop(pool_);
    mongoc_database_t* const database = mongoc_client_get_database(client, name_.c_str());
    mongoc_database_drop(database, nullptr);
    mongoc_database_destroy(database);
    mongoc_client_pool_push(pool_, client);
    mongoc_client_pool_destroy(pool_);
  }

  /// The pool must outlive it.
  [[nodiscard]] std::shared_ptr<Store> Open() const { return OpenMongodbStore(pool_, name_); }
  /// Runs a command given as JSON; one that fails ends the program.
  void Run(const std::string& json) const {
    bson_error_t error{};
    bson_t* const command = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(json.data()),
                                               static_cast<ssize_t>(json.size()), &error);
    mongoc_client_t* const client = mongoc_client_pool_pop(pool_);
    if (command == nullptr ||
        !mongoc_client_command_simple(client, name_.c_str(), command, nullptr, nullptr, &error)) {
      std::fprintf(stderr, "a command of the benchmark failed: %s\n", error.message);
      std::abort();
    }
    bson_destroy(command);
    mongoc_client_pool_push(pool_, client);
  }
  /// Commands since the last time, those of change streams left out: they say nothing while
  /// nothing happens, and a renewal is no news to them.
  long TakeCommands() noexcept { return commands_.exchange(0); }

 private:
  static void OnStarted(const mongoc_apm_command_started_t* event) {
    auto* const self = static_cast<MongodbDatabase*>(mongoc_apm_command_started_get_context(event));
    if (self->name_ != mongoc_apm_command_started_get_database_name(event)) return;
    if (std::string_view(mongoc_apm_command_started_get_command_name(event)) == "getMore") return;
    ++self->commands_;
  }

  std::string name_;
  mongoc_client_pool_t* pool_ = nullptr;
  std::atomic<long> commands_ = 0;
};

}  // namespace doclock::bench

#endif
