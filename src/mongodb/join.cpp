#include <mongoc/mongoc.h>

#include <stdexcept>
#include <utility>

#include "doclock/stores/mongodb.h"
#include "doclock/transaction.h"

namespace doclock {

void Join(Transaction& transaction, std::function<void(const MongodbJoin&)> f) {
  if (!f) throw std::invalid_argument("doclock: joined work must not be empty");
  transaction.JoinNative(NativeHandle::kMongodb, [f = std::move(f)](void* native) {
    const auto& join = *static_cast<const MongodbJoin*>(native);
    f(join);
    // What follows would be stored by itself.
    if (mongoc_client_session_in_transaction(join.session)) return;
    throw std::logic_error("doclock: joined work ended the transaction; nothing was written");
  });
}

}  // namespace doclock
