#pragma once

#include <memory>
#include <string>

#include "doclock/store/store.h"

namespace doclock::histories {

/// A store that breaks one promise, to show that the checker sees it:
///   renews-blindly    says that a renewal succeeded, and sends none
///   reads-stale       answers each read with what the first read of that document saw
///   denies-writes     reports writes as failed that were done
///   frees-refused     refuses some of a holder's writes, and ends the lock
///   splits-commits    stores the writes of a transaction one after the other
///   denies-commits    reports transactions as refused that were stored
///   forgets-expected  stores a transaction whose expected documents were changed
///   reads-in-turn     reads the documents of one moment one after the other
///   one-share-more    counts shares up to one more than the limit
///   writes-late       lets a write of a lock that was lost through, after a while
///   forgets-entries   says that a waiter's entry stands in the queue, and keeps none
///   keeps-released    writes the body of one release, but keeps the lock for four seconds
/// @throws std::invalid_argument for another name
std::shared_ptr<Store> Break(std::shared_ptr<Store> store, const std::string& how);

}  // namespace doclock::histories
