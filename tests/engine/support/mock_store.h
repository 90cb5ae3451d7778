#pragma once

#include <gmock/gmock.h>

#include "doclock/store.h"

namespace doclock::detail {

/// For what no real store can be made to do at will, and for what the engine must not ask of one.
class MockStore : public Store {
 public:
  MOCK_METHOD(StoreTraits, traits, (), (const, noexcept, override));
  MOCK_METHOD(std::shared_ptr<Collection>, Open,
              (const std::string& name, const LockFieldNames& fields,
               std::chrono::milliseconds default_ttl),
              (override));
  MOCK_METHOD(std::shared_ptr<Collection>, Find, (const std::string& name), (const, override));
  MOCK_METHOD(void, Execute, (std::span<StoreOp* const> ops, std::chrono::milliseconds budget),
              (override));
  MOCK_METHOD(void, Query,
              (Collection & collection, const Filter& filter,
               const std::function<bool(QueryRow&&)>& sink, std::chrono::milliseconds budget),
              (override));
  MOCK_METHOD(void, AcquireNext,
              (const Filter& filter, AcquireOp& op, Key& key, std::chrono::milliseconds budget),
              (override));
  MOCK_METHOD(void, EnsureIndex, (Collection & collection, const IndexSpec& index), (override));
  MOCK_METHOD(std::int64_t, Purge,
              (Collection & collection, std::int64_t limit, std::chrono::milliseconds budget),
              (override));
  MOCK_METHOD(std::unique_ptr<Subscription>, Watch,
              (Collection & collection, HintListener listener), (override));
};

}  // namespace doclock::detail
