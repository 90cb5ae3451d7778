#pragma once

#include <unistd.h>

#include <string>

#include "mongodb/layouts/mongo_lock_peer.h"
#include "process/child.h"

namespace doclock::mongo_test {

/// The real library, version cfcf499f6bf0, in a program of its own (go/main.go).
class RealMongoLock final : public MongoLockPeer {
 public:
  /// Empty if it could not be built: there is no Go, or its modules could not be had.
  static std::string Program() {
    return ::access(DOCLOCK_MONGO_LOCK_PROGRAM, X_OK) == 0 ? DOCLOCK_MONGO_LOCK_PROGRAM : "";
  }
  static constexpr const char* kMissing =
      "the real mongo-lock was not built, because go or its modules are missing";

  RealMongoLock(const std::string& uri, const std::string& database)
      : child_({"serve", uri, database}, {Program()}) {}

 private:
  std::string Ask(const nlohmann::json& call) override {
    child_.Say(call.dump());
    return child_.Line().value_or("error: it is gone");
  }

  test::Child child_;
};

}  // namespace doclock::mongo_test
