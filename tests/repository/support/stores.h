#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "doclock/clock.h"
#include "doclock/store.h"

namespace doclock {

/// A store with nothing in it. A null clock means the real one.
struct StoreKind {
  std::string name;
  std::shared_ptr<Store> (*open)(std::shared_ptr<const Clock> clock);
  /// How much its times may differ from those that the test made, because a real server's time goes
  /// on.
  std::chrono::milliseconds slack{};
  friend void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }
};
/// Memory, SQLite, and MongoDB in programs that were given servers
/// (DOCLOCK_TEST_STORES_ON_MONGODB).
std::vector<StoreKind> AllStores();
inline std::string NameOf(const ::testing::TestParamInfo<StoreKind>& info) {
  return info.param.name;
}

#define DOCLOCK_FOR_ALL_STORES(suite)                                                \
  INSTANTIATE_TEST_SUITE_P(Stores, suite, ::testing::ValuesIn(doclock::AllStores()), \
                           doclock::NameOf)

}  // namespace doclock
