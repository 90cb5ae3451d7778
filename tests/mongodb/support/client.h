#pragma once

#include <memory>
#include <string>
#include <utility>

#include "conformance/suite/batch.h"
#include "conformance/suite/client.h"
#include "doclock/stores/mongodb.h"

namespace doclock::mongo_test {

using namespace std::chrono_literals;

using conformance::Batch;
using conformance::kTtl;
using conformance::Why;

class Client : public conformance::Client {
 public:
  explicit Client(std::shared_ptr<Store> store, const std::string& collection = "things",
                  std::chrono::milliseconds budget = 10s)
      : conformance::Client(std::move(store), collection, budget) {}
};

inline Body Counted(int n) { return Body::FromJson({{"n", n}}); }

}  // namespace doclock::mongo_test
