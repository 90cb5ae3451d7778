/// Memory may run out at any allocation of any verb: the verb tells of it or does what it should,
/// no caller waits forever, and no orphaned lock stays behind.

#include <gtest/gtest.h>

#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "allocation/verbs.h"
#include "doclock/memory_store.h"

namespace doclock::allocation_test {
namespace {

/// What a verb has come to.
enum class Outcome { kDone, kNoMemory, kError, kInDoubt };

Outcome Try(const Verb& verb, Bench& bench) {
  const CodeUnderTest code;
  try {
    verb.run(bench);
  } catch (const std::bad_alloc&) {
    return Outcome::kNoMemory;
  } catch (const InDoubtException&) {
    return Outcome::kInDoubt;
  } catch (const Error&) {
    return Outcome::kError;
  }
  return Outcome::kDone;
}

/// As destructors do.
void Drop(Bench& bench) noexcept {
  const CodeUnderTest code;
  bench.held.reset();
  bench.lock.reset();
  bench.share.reset();
  bench.waiting.clear();
  bench.mutex.reset();
  bench.in_the_way.reset();
}

class AllocationTest : public ::testing::TestWithParam<Verb> {
 protected:
  /// False once the verb has fewer allocations.
  bool Play(const Verb& verb, std::int64_t n) {
    const auto clock = std::make_shared<ManualClock>();
    Bench bench(OpenMemoryStore({.clock = clock}), clock);
    verb.prepare(bench);
    FailingNew::FailAt(n);
    Outcome outcome = Outcome::kDone;
    try {
      outcome = Try(verb, bench);
    } catch (const std::exception& e) {
      FailingNew::Disarm();
      ADD_FAILURE() << "threw: " << e.what();
    }
    Drop(bench);
    clock->Advance(1s);
    const bool failed = FailingNew::failed();
    FailingNew::Disarm();
    EXPECT_EQ(bench.runtime->escaped(), 0);
    EXPECT_TRUE(failed || outcome == Outcome::kDone);
    const bool in_doubt = outcome == Outcome::kInDoubt;
    // What could not be given back at once for want of memory is when the keeper looks after it.
    clock->Advance(in_doubt || verb.leaves == Leaves::kLease ? 1min : 10s);
    ExpectFree(bench);
    const TimePoint before = clock->Now();
    bench.manager.Close();
    EXPECT_LT(clock->Now() - before, 1s) << "Close waited for what never ends";
    return failed;
  }

  static void ExpectFree(Bench& bench) {
    for (const char* key : {"a", "b"}) {
      try {
        EXPECT_TRUE(bench.others.TryLock(Job{key}).has_value()) << key;
      } catch (const Error& e) {
        ADD_FAILURE() << key << ": " << e.what();
      }
    }
    const LockProvider others(bench.other, "locks");
    for (const char* name : {"x", "y"}) EXPECT_TRUE(others.TryAcquire(name).has_value()) << name;
  }
};

TEST_P(AllocationTest, EachFailsOnce) {
  std::int64_t n = 1;
  for (bool more = true; more && !HasFailure(); ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    more = Play(GetParam(), n);
  }
}

/// The tests above would pass if nothing ever failed.
TEST(FailingNewTest, FailsWhatItIsToldTo) {
  FailingNew::FailAt(2);
  {
    const CodeUnderTest code;
    ::operator delete(::operator new(1));
    EXPECT_THROW(::operator delete(::operator new(1)), std::bad_alloc);
    ::operator delete(::operator new(1));
    const TestsOwnCode own;
    ::operator delete(::operator new(1));
  }
  EXPECT_TRUE(FailingNew::failed());
  FailingNew::Disarm();
}

TEST(FailingNewTest, SparesWhatDestroysJson) {
  std::optional<nlohmann::json> tree(nlohmann::json{{"a", {{"b", 1}}}});
  FailingNew::FailAt(1, 1000);
  {
    const CodeUnderTest code;
    tree.reset();
    EXPECT_THROW(::operator delete(::operator new(1)), std::bad_alloc);
  }
  FailingNew::Disarm();
}

std::string NameOf(const ::testing::TestParamInfo<Verb>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(ThatLock, AllocationTest, ::testing::ValuesIn(VerbsThatLock()), NameOf);
INSTANTIATE_TEST_SUITE_P(OfHolders, AllocationTest, ::testing::ValuesIn(VerbsOfHolders()), NameOf);
INSTANTIATE_TEST_SUITE_P(WithoutLock, AllocationTest, ::testing::ValuesIn(VerbsWithoutLock()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(OfNamedLocks, AllocationTest, ::testing::ValuesIn(VerbsOfNamedLocks()),
                         NameOf);

}  // namespace
}  // namespace doclock::allocation_test
