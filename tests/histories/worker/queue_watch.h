#pragma once

#include <memory>

#include "doclock/store/store.h"
#include "histories/worker/record.h"

namespace doclock::histories {

/// Records what the store tells of its queue, as it tells it:
///   stands     the entry of the process's waiter stands in the queue since then
///   passed on  the lock was granted to the waiter from the queue, by another client
/// For processes with one thread: the checker takes these for its only open call.
std::shared_ptr<Store> WatchQueue(std::shared_ptr<Store> store, Record& record);

}  // namespace doclock::histories
