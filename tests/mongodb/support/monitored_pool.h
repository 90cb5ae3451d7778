#pragma once

#include <mongoc/mongoc.h>

#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "doclock/stores/mongodb.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {

/// A pool of connections of the program's own, which counts the commands sent to one database.
class MonitoredPool {
 public:
  MonitoredPool(const std::string& uri_text, std::string database)
      : database_(std::move(database)) {
    const auto uri = mongoc_uri_new(uri_text.c_str());
    if (uri == nullptr) throw std::runtime_error("the test server's URI is not valid");
    pool_ = mongoc_client_pool_new(uri);
    mongoc_uri_destroy(uri);
    mongoc_apm_callbacks_t* const callbacks = mongoc_apm_callbacks_new();
    mongoc_apm_set_command_started_cb(callbacks, &MonitoredPool::OnStarted);
    mongoc_client_pool_set_apm_callbacks(pool_, callbacks, this);
    mongoc_apm_callbacks_destroy(callbacks);
  }
  MonitoredPool(const MonitoredPool&) = delete;
  MonitoredPool& operator=(const MonitoredPool&) = delete;
  ~MonitoredPool() { mongoc_client_pool_destroy(pool_); }

  [[nodiscard]] mongoc_client_pool_t* get() const noexcept { return pool_; }

  /// Runs `then` once, when a command of this name is about to be sent.
  void BeforeNext(std::string command, std::function<void()> then) {
    const std::lock_guard guard(mutex_);
    awaited_ = std::move(command);
    then_ = std::move(then);
  }
  /// How many commands of which name, since the last time; as text: "find 1, update 2".
  std::string Take() {
    const std::lock_guard guard(mutex_);
    std::string text;
    for (const auto& [name, count] : counts_) {
      text += (text.empty() ? "" : ", ") + name + " " + std::to_string(count);
    }
    counts_.clear();
    return text;
  }
  /// The same, as a number.
  int TakeCount() {
    const std::lock_guard guard(mutex_);
    int sum = 0;
    for (const auto& [name, count] : counts_) sum += count;
    counts_.clear();
    return sum;
  }
  /// The number of those that change streams do not send.
  int TakeCountOfRequests() {
    const std::lock_guard guard(mutex_);
    int sum = 0;
    for (const auto& [name, count] : counts_) {
      if (name != "getMore" && name != "aggregate" && name != "killCursors") sum += count;
    }
    counts_.clear();
    return sum;
  }
  /// The last commit of a transaction, which is sent to another database, as JSON.
  std::string LastCommit() {
    const std::lock_guard guard(mutex_);
    return last_commit_;
  }
  /// The command that began the first transaction, as it was sent.
  mongodb::Doc TakeFirstOfTransaction() {
    const std::lock_guard guard(mutex_);
    return std::move(first_of_transaction_);
  }

 private:
  static void OnStarted(const mongoc_apm_command_started_t* event) {
    auto* const self = static_cast<MonitoredPool*>(mongoc_apm_command_started_get_context(event));
    const std::string name = mongoc_apm_command_started_get_command_name(event);
    const bson_t& command = *mongoc_apm_command_started_get_command(event);
    if (name == "commitTransaction") self->KeepCommit(command);
    if (bson_has_field(&command, "startTransaction")) self->KeepFirst(command);
    if (self->database_ != mongoc_apm_command_started_get_database_name(event)) return;
    if (const std::function<void()> then = self->Count(name)) then();
  }
  void KeepCommit(const bson_t& command) {
    char* const text = bson_as_relaxed_extended_json(&command, nullptr);
    const std::lock_guard guard(mutex_);
    last_commit_ = text;
    bson_free(text);
  }
  void KeepFirst(const bson_t& command) {
    const std::lock_guard guard(mutex_);
    if (first_of_transaction_.empty()) bson_concat(first_of_transaction_.get(), &command);
  }
  /// Sets a function to run before a command of this name.
  std::function<void()> Count(const std::string& name) {
    const std::lock_guard guard(mutex_);
    ++counts_[name];
    return name == awaited_ ? std::exchange(then_, {}) : std::function<void()>();
  }

  std::string database_;
  mongoc_client_pool_t* pool_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::string awaited_, last_commit_;
  mongodb::Doc first_of_transaction_;
  std::function<void()> then_;
};

/// The URI with a bound on how long an answer is waited for, as a pool needs it.
inline std::string WithSocketTimeout(const std::string& uri) {
  return uri + (uri.find('?') == uri.npos ? "/?" : "&") + "socketTimeoutMS=10000";
}

}  // namespace doclock::mongo_test
