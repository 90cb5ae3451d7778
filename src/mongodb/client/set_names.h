#pragma once

#include <mongoc/mongoc.h>

#include <map>
#include <mutex>
#include <string>

namespace doclock::mongodb {

/// Which replica sets the servers of a URI belong to, as they say to those who watch them. The
/// driver drops a member of another set without a word. Thread-safe.
class SetNames {
 public:
  /// Listens for as long as the pool lives, which this must outlive. Before its first use.
  void ListenTo(mongoc_client_pool_t* pool);
  /// Why no server of the URI will ever do: all of them answered, and none is of the set that it
  /// names. Else empty.
  [[nodiscard]] std::string WhyNone(const mongoc_uri_t* uri) const;

 private:
  static void OnAnswer(const mongoc_apm_server_heartbeat_succeeded_t* event);

  mutable std::mutex mutex_;
  std::map<std::string, std::string> names_;  ///< By host and port; empty: of no set.
};

}  // namespace doclock::mongodb
