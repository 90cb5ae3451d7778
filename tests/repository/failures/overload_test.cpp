/// Calls that compile, and calls that must not.

#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "repository/support/harness.h"

namespace doclock {
namespace {

using Sagas = LockingRepository<Saga>;
using Numbers = LockingRepository<ByNumber>;
using Documents = LockingRepository<json>;
template <class R, class... A>
concept Locks = requires(const R& r, A&&... a) { r.Lock(std::forward<A>(a)...); };
template <class R, class... A>
concept LocksAsync = requires(const R& r, A&&... a) { r.LockAsync(std::forward<A>(a)...); };

// Keys are what T's keys are.
static_assert(Locks<Sagas, const char*> && Locks<Sagas, const char (&)[3]>);
static_assert(Locks<Sagas, std::string> && Locks<Sagas, std::string_view> && Locks<Sagas, Key>);
static_assert(Locks<Numbers, int> && Locks<Numbers, std::int64_t> && Locks<Numbers, unsigned>);
static_assert(Locks<Documents, const char*> && Locks<Documents, int> && Locks<Documents, Uuid>);
// What is no key is an error in words: tests/messages.
template <class A, class K>
constexpr bool kIsKey = detail::KeyArgument<A, K>;
static_assert(!kIsKey<std::nullptr_t, std::string> && !kIsKey<int, std::string>);
static_assert(!kIsKey<Uuid, std::string> && !kIsKey<bool, std::string>);
static_assert(!kIsKey<char, std::string> && !kIsKey<const char8_t*, std::string>);
static_assert(!kIsKey<const char*, int> && !kIsKey<bool, int> && !kIsKey<double, int>);
static_assert(!kIsKey<char, int> && !kIsKey<wchar_t, int> && !kIsKey<char8_t, int>);
static_assert(kIsKey<unsigned char, int> && kIsKey<signed char, int>);
static_assert(!kIsKey<std::nullptr_t, int> && !kIsKey<std::nullptr_t, Key>);
static_assert(!kIsKey<char, Key> && !kIsKey<char32_t, Key>);
template <class R>
concept LocksWithEmptyOptions = requires(const R& r) { r.Lock("k", {}); };
static_assert(LocksWithEmptyOptions<Sagas> && LocksWithEmptyOptions<Documents>);
template <class R>
concept LocksAsyncWithEmptyOptions = requires(const R& r) { r.LockAsync("k", {}); };
static_assert(LocksAsyncWithEmptyOptions<Sagas> && LocksAsyncWithEmptyOptions<Documents>);

// Entities are exactly T.
template <class T, class Second>
constexpr bool kPairs = std::constructible_from<Target<T>, const char*, Second>;
static_assert(Locks<Sagas, Target<Saga>> && Locks<Sagas, Saga>);
static_assert(Locks<Sagas, Target<Saga>, LockOptions, std::stop_token>);
static_assert(kPairs<Saga, Saga> && !kPairs<Saga, Note> && !kPairs<Saga, json>);
static_assert(kPairs<json, json> && !kPairs<json, const char*>);
static_assert(!Locks<Sagas, const char*, Note> && !Locks<Sagas, const char*, json>);
static_assert(!Locks<Documents, const char*, const char*>);

// Tokens are tokens.
struct Handler {
  void operator()(std::exception_ptr, Locked<Saga>) {}
};
using LockFuture = std::future<Locked<Saga>>;
template <class... A>
using LockAsyncResult = decltype(std::declval<const Sagas&>().LockAsync(std::declval<A>()...));
static_assert(std::same_as<LockAsyncResult<const char*>, LockFuture>);
static_assert(std::same_as<LockAsyncResult<const char*, LockOptions>, LockFuture>);
static_assert(std::same_as<LockAsyncResult<Target<Saga>>, LockFuture>);
static_assert(std::same_as<LockAsyncResult<Target<Saga>, LockOptions>, LockFuture>);
static_assert(std::same_as<LockAsyncResult<Saga>, LockFuture>);
static_assert(std::same_as<LockAsyncResult<const char*, Handler>, void>);
static_assert(std::same_as<LockAsyncResult<const char*, LockOptions, Handler>, void>);
static_assert(std::same_as<LockAsyncResult<Target<Saga>, Handler>, void>);
static_assert(std::same_as<LockAsyncResult<Saga, Handler>, void>);
static_assert(std::same_as<LockAsyncResult<const char*, boost::asio::use_awaitable_t<>>,
                           boost::asio::awaitable<Locked<Saga>>>);
static_assert(LocksAsync<Sagas, const char*, boost::asio::deferred_t>);
static_assert(LocksAsync<Sagas, const char*, boost::asio::detached_t>);
static_assert(!LocksAsync<Sagas, const char*, Note>);
static_assert(!LocksAsync<Documents, const char*, const char*>);

// Only entities that carry their lock can be released by value.
template <class T>
concept ReleasedByValue = requires(const LockingRepository<T>& r, const T& e) { r.ReleaseLock(e); };
static_assert(ReleasedByValue<Order> && !ReleasedByValue<Saga>);

static_assert(std::is_nothrow_move_constructible_v<Locked<Machine>> &&
              std::is_nothrow_move_assignable_v<Locked<Machine>> &&
              std::is_nothrow_destructible_v<Locked<Machine>> &&
              !std::is_copy_constructible_v<Locked<Saga>>);

TEST(Overloads, AreSettledByTheCompiler) { SUCCEED(); }

}  // namespace
}  // namespace doclock
