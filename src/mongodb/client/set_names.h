#pragma once

#include <mongoc/mongoc.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace doclock::mongodb {

/// What libmongoc allocated, with its function that frees it.
template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

/// The replica sets that the servers of a URI belong to, as the driver's monitors learn them. The
/// driver drops a member of another set without an error. Thread-safe.
class SetNames {
 public:
  /// Listens as long as the pool lives, which this must outlive. Call it before the pool's first
  /// use.
  void ListenTo(mongoc_client_pool_t* pool);
  /// Why no server of the URI can be used: all of them answered, and none belongs to the set that
  /// the URI names. Empty otherwise.
  [[nodiscard]] std::string WhyNone(const mongoc_uri_t* uri) const;

 private:
  static void OnAnswer(const mongoc_apm_server_heartbeat_succeeded_t* event);

  mutable std::mutex mutex_;
  std::map<std::string, std::string> names_;  ///< By host and port; empty: of no set.
};

}  // namespace doclock::mongodb
