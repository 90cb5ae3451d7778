#include <stdexcept>
#include <utility>

#include "doclock/postgresql_transaction.h"
#include "postgresql/joined_work.h"

namespace doclock {

void Join(Transaction& transaction, std::function<void(pg_conn*)> f) {
  if (!f) throw std::invalid_argument("doclock: joined work must not be empty");
  transaction.JoinNative(NativeHandle::kPostgresql, [f = std::move(f)](void* native) {
    static_cast<postgresql::JoinedWork*>(native)->Run(f);
  });
}

}  // namespace doclock
