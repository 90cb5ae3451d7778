/// How soon another process has the lock that was released on PostgreSQL, beside a NOTIFY.

#include <poll.h>

#include <optional>

#include "children.h"
#include "postgresql_raw.h"
#include "release_seen.h"

namespace doclock::bench {
namespace {

constexpr int kNews = 30;

void AwaitNotification(PGconn* connection) {
  for (;;) {
    if (PGnotify* const notification = PQnotifies(connection)) return PQfreemem(notification);
    pollfd wait{PQsocket(connection), POLLIN, 0};
    ::poll(&wait, 1, -1);
    PQconsumeInput(connection);
  }
}

/// From the return of NOTIFY until the other process has it.
double Notification() {
  const PostgresqlSchema schema;
  Children<Board> children;
  children.Start([&](Board& board) {
    const RawPostgresql raw(schema.url());
    raw.Run("LISTEN floor");
    Watch(
        board, kNews, [&] { AwaitNotification(raw.get()); }, [] {});
  });
  const RawPostgresql raw(schema.url());
  const double median = Play(
      children.shared(), kNews, [] {}, [&] { raw.Run("NOTIFY floor"); }, true);
  children.Join();
  return median;
}

/// From the return of Release until Lock returns in the other process.
double HandOver() {
  const PostgresqlSchema schema;
  std::optional<Locked<Small>> held;
  Children<Board> children;
  children.Start([&](Board& board) {
    const LockManager manager{OpenPostgresqlStore(schema.url())};
    const LockingRepository<Small> orders{manager, "orders"};
    const auto take = [&] { held.emplace(orders.Lock({"a", Small{}}, {.wait = 10s})); };
    const auto free = [&] {
      held->Release();
      held.reset();
    };
    take();
    free();
    Watch(board, kNews, take, free);
  });
  const LockManager manager{OpenPostgresqlStore(schema.url())};
  const LockingRepository<Small> orders{manager, "orders"};
  const double median = Play(
      children.shared(), kNews,
      [&] {
        held.emplace(orders.Lock({"a", Small{}}, {.wait = 10s}));
      },
      [&] {
        held->Release();
        held.reset();
      },
      true);
  children.Join();
  return median;
}

void PostgresqlReleaseTaken(benchmark::State& state) {
  Compare(state, {.value = 3, .at_most = true}, Notification, HandOver, 3);
}
BENCHMARK(PostgresqlReleaseTaken)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace doclock::bench
