#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "conformance/suite/client.h"
#include "doclock/stores/sqlite.h"

namespace doclock::sqlite_test {

using namespace std::chrono_literals;

using conformance::Why;

inline constexpr std::chrono::milliseconds kBudget = 10s;

class Client : public conformance::Client {
 public:
  explicit Client(std::shared_ptr<Store> store, const std::string& collection = "things")
      : conformance::Client(std::move(store), collection, kBudget) {}
  explicit Client(const std::filesystem::path& file, SqliteStoreOptions options = {})
      : Client(OpenSqliteStore(file, std::move(options))) {}

  /// Makes the document if it is missing.
  AcquireOp Create(const Key& key, const std::string& body = "{}") {
    return Acquire(key, {.insert = Body::FromText(body)});
  }
  /// A share of a document, which is made if it is missing.
  AcquireOp Share(const Key& key, int max_holders = kMaxHolders) {
    return conformance::Client::Share(key, NewUuid(), max_holders, Body::FromText("{}"));
  }
  SaveOp Insert(const Key& key, const std::string& body = "{}") {
    return InsertBody(key, Body::FromText(body));
  }
};

}  // namespace doclock::sqlite_test
