#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "doclock/store/store.h"
#include "doclock/time.h"

namespace doclock {

/// A store with nothing in it. A null clock means the real one.
struct StoreKind {
  std::string name;
  std::shared_ptr<Store> (*open)(std::shared_ptr<const Clock> clock);
  friend void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }
};
/// In memory: a store of one process, and one that says that other processes use it and wait in its
/// queue.
std::vector<StoreKind> AllStores();
inline std::string NameOf(const ::testing::TestParamInfo<StoreKind>& info) {
  return info.param.name;
}

#define DOCLOCK_FOR_ALL_STORES(suite)                                                \
  INSTANTIATE_TEST_SUITE_P(Stores, suite, ::testing::ValuesIn(doclock::AllStores()), \
                           doclock::NameOf)

}  // namespace doclock
