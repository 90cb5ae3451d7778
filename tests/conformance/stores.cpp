#include "conformance/record_backend.h"
#include "conformance/suite/store_conformance.h"
#ifdef DOCLOCK_WITH_SQLITE
#include "conformance/sqlite_backend.h"
#endif
#ifdef DOCLOCK_WITH_MONGODB
#include "conformance/mongodb_backend.h"
#endif
#ifdef DOCLOCK_WITH_POSTGRESQL
#include "conformance/postgresql_backend.h"
#endif
#include "doclock/open_store.h"

namespace doclock::conformance {
namespace {

Backend MakeMemory() {
  Backend backend;
  backend.clock = std::make_shared<ManualClock>();
  backend.store = OpenMemoryStore({.clock = backend.clock});
  return backend;
}

}  // namespace

std::vector<StoreKind> LocalStores() {
  std::vector<StoreKind> stores{
      {"Memory", MakeMemory}, {"Records", MakeRecords}, {"RecordsByKey", MakeRecordsByKey}};
#ifdef DOCLOCK_WITH_SQLITE
  stores.push_back({"Sqlite", MakeSqlite});
#endif
  return stores;
}

std::vector<StoreKind> AllStores() {
  std::vector<StoreKind> stores = LocalStores();
#ifdef DOCLOCK_WITH_MONGODB
  stores.push_back({"Mongodb", MakeMongodb});
  stores.push_back({"MongodbStandalone", MakeMongodbStandalone});
#endif
#ifdef DOCLOCK_WITH_POSTGRESQL
  stores.push_back({"Postgresql", MakePostgresql});
#endif
  return stores;
}

}  // namespace doclock::conformance
