#include "mongodb/client/set_names.h"

#include <memory>

namespace doclock::mongodb {

void SetNames::ListenTo(mongoc_client_pool_t* pool) {
  const Owned<mongoc_apm_callbacks_t> callbacks(mongoc_apm_callbacks_new(),
                                                &mongoc_apm_callbacks_destroy);
  mongoc_apm_set_server_heartbeat_succeeded_cb(callbacks.get(), &SetNames::OnAnswer);
  mongoc_client_pool_set_apm_callbacks(pool, callbacks.get(), this);
}

void SetNames::OnAnswer(const mongoc_apm_server_heartbeat_succeeded_t* event) {
  auto* const self =
      static_cast<SetNames*>(mongoc_apm_server_heartbeat_succeeded_get_context(event));
  const bson_t* const reply = mongoc_apm_server_heartbeat_succeeded_get_reply(event);
  bson_iter_t field;
  // It waits until its set is initiated, which may still happen.
  if (bson_iter_init_find(&field, reply, "isreplicaset")) return;
  const bool named = bson_iter_init_find(&field, reply, "setName") && BSON_ITER_HOLDS_UTF8(&field);
  const std::lock_guard guard(self->mutex_);
  self->names_[mongoc_apm_server_heartbeat_succeeded_get_host(event)->host_and_port] =
      named ? bson_iter_utf8(&field, nullptr) : "";
}

std::string SetNames::WhyNone(const mongoc_uri_t* uri) const {
  const char* const wanted = mongoc_uri_get_replica_set(uri);
  if (wanted == nullptr) return {};
  const std::lock_guard guard(mutex_);
  std::string text;
  for (const auto* host = mongoc_uri_get_hosts(uri); host != nullptr; host = host->next) {
    const auto said = names_.find(host->host_and_port);
    if (said == names_.end() || said->second == wanted) return {};
    text += (text.empty() ? "" : "; ") + said->first;
    text += said->second.empty() ? " is in no replica set"
                                 : " is in the replica set '" + said->second + "'";
  }
  if (!text.empty()) text += ", and the URI's option replicaSet names another";
  return text;
}

}  // namespace doclock::mongodb
