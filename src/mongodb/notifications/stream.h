#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "doclock/store/store.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// One change stream of a collection, on a thread of its own while there are watchers. It reports
/// locks that were released or granted to a waiter, and documents that were inserted, saved or
/// erased. When the stream fails it begins anew, and reports that anything may have happened
/// meanwhile.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(std::shared_ptr<Server> server, const Collection& collection)
      : server_(std::move(server)), collection_(collection) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  /// Null if no connection is left for it. @throws std::system_error if no thread can be
  /// started
  std::unique_ptr<Subscription> Add(HintListener listener);

 private:
  class Watcher;
  /// Starts the thread. False if no connection is left for it. @throws std::system_error if no
  /// thread can be started
  bool Start();
  void Remove(std::uint64_t number);
  void Tell(const LockHint& hint);
  void Run(const std::stop_token& stop);
  /// Runs until the stream fails or has no watchers.
  void Follow(const std::stop_token& stop);

  const std::shared_ptr<Server> server_;
  const Collection& collection_;
  std::mutex mutex_;         ///< Guards the watchers. Held while hints run.
  std::mutex thread_mutex_;  ///< Held while the thread begins or ends.
  std::map<std::uint64_t, HintListener> watchers_;
  std::uint64_t next_number_ = 0;  ///< Guarded by thread_mutex_.
  std::jthread thread_;
};

}  // namespace doclock::mongodb
