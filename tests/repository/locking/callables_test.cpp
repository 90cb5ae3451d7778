/// Which callables With and Update take. tests/messages has the words for the others.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "repository/support/harness.h"

namespace doclock {
namespace {

namespace asio = boost::asio;

template <class F>
constexpr bool kEdits =
    detail::CanChange<typename detail::Called<F>::type, Saga, detail::ResultOf<F, Saga&>>();
template <auto f>
constexpr bool kEditsBy = kEdits<decltype(f)>;

// Lambdas. Bodies that would not compile with an rvalue or a const entity do no harm.
void Take(Saga&) {}
static_assert(kEditsBy<[](Saga&) {}> && kEditsBy<[](Saga&) noexcept {}>);
static_assert(kEditsBy<[](Saga&) mutable {}> && kEditsBy<[](Saga& s) -> Saga& { return s; }>);
static_assert(kEditsBy<[](auto& s) { ++s.attempts; }> && kEditsBy<[](auto&& s) { Take(s); }>);
static_assert(kEditsBy<[](auto&& s) { Take(std::forward<decltype(s)>(s)); }>);
static_assert(kEditsBy<[](auto&&... s) { (Take(std::forward<decltype(s)>(s)), ...); }>);
static_assert(!kEditsBy<[](Saga) {}> && !kEditsBy<[](const Saga) noexcept {}>);
static_assert(!kEditsBy<[](Saga) mutable {}> && !kEditsBy<[](const Saga&) {}>);
static_assert(!kEditsBy<[](auto s) { ++s.attempts; }> &&
              !kEditsBy<[](auto... s) { (++s.attempts, ...); }>);
static_assert(!kEditsBy<[](const auto& s) { return s.attempts; }>);

// Functions, members, and what wraps them.
[[maybe_unused]] void ByValue(Saga) {}
[[maybe_unused]] void ByConst(const Saga&) {}
struct Stepping : Saga {
  void Step() {}
  [[nodiscard]] bool IsDone() const { return false; }
};
static_assert(kEdits<void (&)(Saga&)> && kEdits<void (*)(Saga&) noexcept>);
static_assert(!kEdits<void (*)(Saga)> && !kEdits<void (&)(const Saga&)>);
static_assert(detail::CanChange<decltype(&Stepping::Step), Stepping, void>());
static_assert(!detail::CanChange<decltype(&Stepping::IsDone), Stepping, bool>());
static_assert(!kEdits<decltype(&Saga::attempts)>);
static_assert(kEdits<std::function<void(Saga&)>> && !kEdits<std::function<void(Saga)>>);
static_assert(!kEdits<std::function<void(const Saga&)>>);
template <class F>
using Bound = decltype(std::bind(std::declval<F>(), std::placeholders::_1));
static_assert(kEdits<Bound<decltype(&Take)>> && !kEdits<Bound<decltype(&ByValue)>>);
static_assert(!kEdits<Bound<decltype(&ByConst)>>);
static_assert(kEdits<decltype(std::bind_front(&Take))>);
static_assert(!kEdits<decltype(std::bind_front(&ByValue))>);
static_assert(kEdits<std::reference_wrapper<void(Saga&)>>);
static_assert(!kEdits<std::reference_wrapper<std::function<void(Saga)>>>);
struct Overloads {
  void operator()(Saga&) {}
  void operator()(const Saga&) const {}
};
struct Defaults {
  void operator()(Saga&, int = 0) const {}
};
struct DefaultsByValue {
  void operator()(Saga, int = 0) const {}
};
static_assert(kEdits<Overloads> && kEdits<Defaults> && !kEdits<DefaultsByValue>);
static_assert(detail::CanChange<void (*)(Saga&), Stepping, void>());

// What std::ref and std::cref refer to, and callables that are const: what is called counts.
struct ConstByValue {
  void operator()(Saga&) {}
  void operator()(Saga) const {}
};
template <class F>
constexpr bool kRefEdits = kEdits<std::reference_wrapper<F>> && kEdits<F&>;
constexpr auto kForwarding = [](auto&& s) { ++s.attempts; };
constexpr auto kByAuto = [](auto s) { ++s.attempts; };
using Forwarding = std::remove_const_t<decltype(kForwarding)>;
static_assert(kRefEdits<Forwarding> && kRefEdits<const Forwarding>);
static_assert(kEdits<const std::reference_wrapper<Forwarding>&>);
static_assert(!kEdits<std::reference_wrapper<decltype(kByAuto)>>);
static_assert(kRefEdits<Overloads> && !kEdits<std::reference_wrapper<const Overloads>>);
static_assert(!kEdits<const Overloads&>);
static_assert(kRefEdits<ConstByValue> && !kEdits<const ConstByValue&>);
static_assert(kRefEdits<const Defaults> && !kEdits<std::reference_wrapper<DefaultsByValue>>);
static_assert(kRefEdits<Bound<decltype(&Take)>> && !kEdits<Bound<decltype(&ByValue)>&>);
static_assert(!kEdits<std::reference_wrapper<decltype(&Saga::attempts)>>);
template <auto f>
constexpr bool kStepsBy =
    detail::CanChange<typename detail::Called<std::reference_wrapper<decltype(f)>>::type, Stepping,
                      detail::ResultOf<decltype(f), Stepping&>>();
static_assert(kStepsBy<&Stepping::Step> && !kStepsBy<&Stepping::IsDone>);
static_assert(kEditsBy<[](std::reference_wrapper<Saga>) {}>);

// Results that stand for work that goes on.
struct Joined {
  bool await_ready();
};
struct Generated {
  struct promise_type;
};
static_assert(detail::Unfinished<asio::awaitable<void>> && detail::Unfinished<std::future<int>>);
static_assert(detail::Unfinished<std::shared_future<void>> && detail::Unfinished<Joined> &&
              detail::Unfinished<Generated>);
static_assert(!detail::Unfinished<int> && !detail::Unfinished<std::string> &&
              !detail::Unfinished<json> && !detail::Unfinished<std::optional<Saga>>);

/// Coroutines wait for real threads.
class CallablesTest : public ThreadsTest {
 protected:
  template <class R>
  R Await(asio::awaitable<R> coroutine) {
    asio::io_context io;
    auto future = asio::co_spawn(io, std::move(coroutine), asio::use_future);
    io.run();
    return future.get();
  }
  LockingRepository<Saga> sagas{manager, "sagas"};
  LockProvider locks{manager};
};
DOCLOCK_FOR_ALL_STORES(CallablesTest);

TEST_P(CallablesTest, WithGivesBackACopyOfWhatItStored) {
  sagas.Insert(Saga{"1"});
  const Saga stored = sagas.With("1", [](Saga& saga) -> Saga& {
    ++saga.attempts;
    return saga;
  });
  EXPECT_EQ(stored.attempts, 1);
  LockingRepository<json> raw{manager, "sagas"};
  EXPECT_EQ(raw.With("1", [](json& saga) { return saga.at("attempts"); }), 1);
}

TEST_P(CallablesTest, AreCalledByReferenceToo) {
  sagas.Insert(Saga{"1"});
  auto forwarding = [](auto&& saga) { ++saga.attempts; };
  Overloads overloads;
  for (const bool with : {true, false}) {
    const auto run = [&](auto f) { with ? sagas.With("1", f) : sagas.Update("1", f); };
    run(std::ref(forwarding));
    run(std::cref(forwarding));
    run(std::ref(overloads));
    sagas.UpdateAsync("1", std::ref(forwarding)).get();
  }
  EXPECT_EQ(sagas.Find("1").value()->attempts, 6);
}

TEST_P(CallablesTest, UpdateIgnoresNumbersAndReferences) {
  sagas.Insert(Saga{"1"});
  sagas.Update("1", [](Saga& saga) { return ++saga.attempts > 5; });
  sagas.Update("1", [](Saga& saga) { return ++saga.attempts; });
  sagas.Update("1", [](Saga& saga) -> Saga& { return ++saga.attempts, saga; });
  EXPECT_EQ(sagas.Find("1").value()->attempts, 3);
}

TEST_P(CallablesTest, ACoroutineRunsUnderTheLock) {
  auto work = [this](Saga& saga) -> asio::awaitable<int> {
    EXPECT_TRUE(sagas.Find("1").value().locked());
    co_await asio::post(asio::use_awaitable);
    co_return ++saga.attempts;
  };
  EXPECT_EQ(Await(sagas.WithAsync({"1", Saga{"1"}}, work)), 1);
  EXPECT_EQ(Await(sagas.WithAsync("1", work)), 2);
  EXPECT_EQ(Await(sagas.WithAsync(Saga{"1"}, work)), 3);
  EXPECT_FALSE(sagas.Find("1").value().locked());
  EXPECT_EQ(sagas.Find("1").value()->attempts, 3);

  auto named = [this]() -> asio::awaitable<void> {
    EXPECT_FALSE(locks.TryAcquire("x"));
    co_return;
  };
  Await(locks.WithAsync("x", named));
  EXPECT_TRUE(locks.TryAcquire("x"));
}

TEST_P(CallablesTest, ACoroutineThatThrowsLeavesTheDocument) {
  sagas.Insert(Saga{"1"});
  auto fail = [](Saga& saga) -> asio::awaitable<void> {
    ++saga.attempts;
    throw std::domain_error("no");
    co_return;
  };
  EXPECT_THROW(Await(sagas.WithAsync("1", fail)), std::domain_error);
  EXPECT_EQ(sagas.Lock("1", {.wait = kForever})->attempts, 0) << "it was not released";
  EXPECT_THROW((void)sagas.WithAsync("1", fail, {.wait = -1s}), std::invalid_argument);
}

TEST_P(CallablesTest, ALockThatFGaveUpIsNotReleasedAgain) {
  EXPECT_EQ(locks.With("x", [](HeldLock& lock) { return lock.Release(), 1; }), 1);
  EXPECT_TRUE(locks.TryAcquire("x"));
  locks.With("y", [](HeldLock& lock) { lock.Detach(); });
  EXPECT_FALSE(locks.TryAcquire("y"));
  HeldLock mine;
  locks.With("z", [&](HeldLock& lock) { mine = std::move(lock); });
  EXPECT_TRUE(mine.held());
  auto give_up = [](HeldLock& lock) -> asio::awaitable<void> {
    lock.Release();
    co_return;
  };
  Await(locks.WithAsync("x", give_up));
}

}  // namespace
}  // namespace doclock
