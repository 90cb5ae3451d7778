#include "doclock/testing/intervene.h"

#include <stdexcept>

#include "doclock/errors.h"

namespace doclock::testing {
namespace {

void Act(Store& store, const std::string& name, const Key& key, Intervention what) {
  const std::shared_ptr<Collection> collection = store.Find(name);
  if (!collection) {
    throw NotFoundException("doclock: no repository of this process has opened the collection " +
                            name);
  }
  store.Intervene(*collection, key, what);
}

}  // namespace

void ExpireLock(Store& store, const std::string& collection, const Key& key) {
  Act(store, collection, key, Intervention::kExpire);
}

void StealLock(Store& store, const std::string& collection, const Key& key) {
  Act(store, collection, key, Intervention::kSteal);
}

}  // namespace doclock::testing
