/// What happens at every point of every asynchronous operation: the manager is closed, the
/// operation is cancelled, time goes by, or all handles are destroyed. Its handler is called once,
/// and nothing stays locked.

#include "repository/async/points.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <functional>
#include <map>

#include "doclock/lock_provider.h"
#include "repository/support/harness.h"

namespace doclock::points_test {
namespace {

/// One process with one operation, beside another process.
class World {
 public:
  World(const std::shared_ptr<ManualClock>& clock, const std::shared_ptr<Store>& store, int number)
      : clock_(clock),
        rivals_manager_(store, {.runtime = clock->runtime()}),
        key(std::to_string(number)) {
    manager.emplace(
        std::make_shared<PointStore>(store, points),
        ManagerOptions{.poll_min = 300ms,
                       .poll_max = 400ms,
                       .runtime = std::make_shared<PointRuntime>(clock->runtime(), points)});
    orders.emplace(*manager, "orders");
    names.emplace(*manager, "names");
    rival_orders.Insert(Order{key, number, {}});
    filter = Filter().Equal("total", number);
  }

  /// A handler for whatever result.
  auto Handler() {
    return boost::asio::bind_cancellation_slot(signal.slot(), [this](std::exception_ptr error,
                                                                     auto&&... results) {
      ++calls;
      EXPECT_FALSE(starting_) << "inside the call that started the operation";
      points->Stop();
      succeeded = !error;
      (kept_.push_back(std::make_shared<std::decay_t<decltype(results)>>(std::move(results))), ...);
    });
  }
  void Start(const std::function<void(World&)>& start) {
    starting_ = true;
    start(*this);
    starting_ = false;
  }
  /// The other process has the document and the name, and gives them back in a second.
  void LetTheRivalHold() {
    held_.push_back(std::make_shared<std::optional<Locked<Order>>>(rival_orders.Lock(key)));
    rival_held_.emplace(rival_names.Acquire(key));
    clock_runtime_->Schedule(clock_->Now() + 1s, [this] {
      held_.clear();
      rival_held_.reset();
    });
  }
  void DestroyHandles() {
    order.reset();
    held.reset();
    orders.reset();
    names.reset();
    manager.reset();
  }
  /// Gives back what the operation got.
  void DropResults() { kept_.clear(); }

  [[nodiscard]] bool IsLocked() {
    const auto found = rival_orders.Find(key);
    if (found && found->locked()) return true;
    return !rival_names.Admin().Status({.name = key, .expired = false}).empty();
  }

 private:
  const std::shared_ptr<ManualClock> clock_;
  const std::shared_ptr<Runtime> clock_runtime_ = clock_->runtime();
  LockManager rivals_manager_;
  bool starting_ = false;
  std::vector<std::shared_ptr<void>> kept_, held_;
  std::optional<HeldLock> rival_held_;

 public:
  const std::string key;
  const std::shared_ptr<Points> points = std::make_shared<Points>();
  boost::asio::cancellation_signal signal;
  int calls = 0;
  bool succeeded = false;
  std::optional<LockManager> manager;
  std::optional<LockingRepository<Order>> orders;
  std::optional<LockProvider> names;
  LockingRepository<Order> rival_orders{rivals_manager_, "orders"};
  LockProvider rival_names{rivals_manager_, "names"};
  Filter filter;
  // The initial state of an operation.
  std::optional<Locked<Order>> order;
  std::optional<HeldLock> held;
  std::optional<Snapshot<Order>> snapshot;
};

struct Verb {
  std::function<void(World&)> prepare;
  std::function<void(World&)> start;
};

Order New(const World& w) { return {w.key, 2, {}}; }
std::vector<Key> Both(const World& w) { return {w.key, w.key + "+"}; }
std::vector<std::string> BothNames(const World& w) { return {w.key, w.key + "+"}; }
void Increment(Order& order) { ++order.total; }

void Nothing(World&) {}
void Erase(World& w) { w.orders->Erase(w.key); }
void Hold(World& w) { w.order = w.orders->Lock(w.key); }
void HoldName(World& w) { w.held = w.names->Acquire(w.key); }
void Look(World& w) { w.snapshot = w.orders->Find(w.key); }
void Contend(World& w) { w.LetTheRivalHold(); }

const LockOptions kWaits = {.wait = 2s};
const LockOptions kShares = {.wait = 2s, .mode = LockMode::kShared};

const std::map<std::string, Verb>& Verbs() {
  static const std::map<std::string, Verb> kVerbs = {
      {"Lock", {Nothing, [](World& w) { w.orders->LockAsync(w.key, w.Handler()); }}},
      {"LockMakes", {Erase, [](World& w) { w.orders->LockAsync(New(w), w.Handler()); }}},
      {"LockWaits", {Contend, [](World& w) { w.orders->LockAsync(w.key, kWaits, w.Handler()); }}},
      {"LockStaysClosed",
       {Nothing,
        [](World& w) { w.orders->LockAsync(w.key, {.ttl = 2s, .renew = false}, w.Handler()); }}},
      {"TryLock", {Nothing, [](World& w) { w.orders->TryLockAsync(w.key, {}, w.Handler()); }}},
      {"TryLockBusy", {Contend, [](World& w) { w.orders->TryLockAsync(w.key, {}, w.Handler()); }}},
      {"LockAll",
       {Contend, [](World& w) { w.orders->LockAllAsync(Both(w), kWaits, w.Handler()); }}},
      {"LockAllOne",
       {Nothing, [](World& w) { w.orders->LockAllAsync({w.key}, kWaits, w.Handler()); }}},
      {"LockAllNone", {Nothing, [](World& w) { w.orders->LockAllAsync({}, {}, w.Handler()); }}},
      {"TryLockAll",
       {Nothing, [](World& w) { w.orders->TryLockAllAsync({w.key}, {}, w.Handler()); }}},
      {"LockNext", {Nothing, [](World& w) { w.orders->LockNextAsync(w.filter, {}, w.Handler()); }}},
      {"LockNextWaits",
       {Contend, [](World& w) { w.orders->LockNextAsync(w.filter, kWaits, w.Handler()); }}},
      {"TryLockNext",
       {Contend, [](World& w) { w.orders->TryLockNextAsync(w.filter, {}, w.Handler()); }}},
      {"Find", {Nothing, [](World& w) { w.orders->FindAsync(w.key, w.Handler()); }}},
      {"FindMany", {Nothing, [](World& w) { w.orders->FindAsync(w.filter, w.Handler()); }}},
      {"Insert", {Erase, [](World& w) { w.orders->InsertAsync(New(w), w.Handler()); }}},
      {"SaveSnapshot", {Look, [](World& w) { w.orders->SaveAsync(*w.snapshot, w.Handler()); }}},
      {"TrySave", {Look, [](World& w) { w.orders->TrySaveAsync(*w.snapshot, w.Handler()); }}},
      {"EraseKey", {Nothing, [](World& w) { w.orders->EraseAsync(w.key, w.Handler()); }}},
      {"EraseSnapshot", {Look, [](World& w) { w.orders->EraseAsync(*w.snapshot, w.Handler()); }}},
      {"Update", {Nothing, [](World& w) { w.orders->UpdateAsync(w.key, Increment, w.Handler()); }}},
      {"UpdateWaits",
       {Contend, [](World& w) { w.orders->UpdateAsync(w.key, Increment, w.Handler()); }}},
      {"Save", {Hold, [](World& w) { w.order->SaveAsync(w.Handler()); }}},
      {"Release", {Hold, [](World& w) { w.order->ReleaseAsync(w.Handler()); }}},
      {"Discard", {Hold, [](World& w) { w.order->DiscardAsync(w.Handler()); }}},
      {"Erase", {Hold, [](World& w) { w.order->EraseAsync(w.Handler()); }}},
      {"Detach", {Hold, [](World& w) { w.order->DetachAsync(w.Handler()); }}},
      {"ReleaseLockOfEntity",
       {Hold, [](World& w) { w.orders->ReleaseLockAsync(**w.order, w.Handler()); }}},
      {"Acquire", {Nothing, [](World& w) { w.names->AcquireAsync(w.key, w.Handler()); }}},
      {"AcquireWaits",
       {Contend, [](World& w) { w.names->AcquireAsync(w.key, kWaits, w.Handler()); }}},
      {"AcquireShared",
       {Contend, [](World& w) { w.names->AcquireAsync(w.key, kShares, w.Handler()); }}},
      {"TryAcquire", {Nothing, [](World& w) { w.names->TryAcquireAsync(w.key, {}, w.Handler()); }}},
      {"AcquireAll",
       {Contend, [](World& w) { w.names->AcquireAllAsync(BothNames(w), kWaits, w.Handler()); }}},
      {"TryAcquireAll",
       {Nothing, [](World& w) { w.names->TryAcquireAllAsync(BothNames(w), {}, w.Handler()); }}},
      {"RenewName", {HoldName, [](World& w) { w.held->RenewAsync(1min, w.Handler()); }}},
      {"ReleaseName", {HoldName, [](World& w) { w.held->ReleaseAsync(w.Handler()); }}},
      {"DetachName", {HoldName, [](World& w) { w.held->DetachAsync(w.Handler()); }}},
  };
  return kVerbs;
}

/// The event at a point. `locked_for`: how long the lock may be left to its lease.
struct Strike {
  std::function<void(World&, ManualClock&)> what;
  Duration locked_for;
};

const std::map<std::string, Strike>& Strikes() {
  static const std::map<std::string, Strike> kStrikes = {
      {"Close", {[](World& w, ManualClock&) { w.manager->Close(); }, 2min}},
      {"Cancel",
       {[](World& w, ManualClock&) { w.signal.emit(boost::asio::cancellation_type::terminal); },
        {}}},
      {"Wait", {[](World&, ManualClock& clock) { clock.Jump(3s); }, {}}},
      {"Lease", {[](World&, ManualClock& clock) { clock.Jump(31s); }, {}}},
      {"Destroy", {[](World& w, ManualClock&) { w.DestroyHandles(); }, 2min}},
  };
  return kStrikes;
}

class PointsTest : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  /// False once the operation has fewer points.
  bool Play(int point) {
    const Verb& verb = Verbs().at(std::get<0>(GetParam()));
    const Strike& strike = Strikes().at(std::get<1>(GetParam()));
    World w(clock_, store_, point);
    w.rival_orders.Insert(Order{w.key + "+", -1, {}});
    verb.prepare(w);
    clock_->RunPending();
    w.points->StrikeAt(point, [&] { strike.what(w, *clock_); });
    w.Start(verb.start);
    for (int i = 0; i < 60 && w.calls == 0; ++i) clock_->Advance(1s);
    clock_->RunPending();
    EXPECT_EQ(w.calls, 1);
    const bool struck = w.points->struck();
    w.points->Stop();
    w.DropResults();
    w.DestroyHandles();
    clock_->Advance(strike.locked_for);
    const bool detached = std::get<0>(GetParam()).starts_with("Detach");
    if (!detached) {
      EXPECT_FALSE(w.IsLocked());
    }
    return struck;
  }

  void PlayAll(const StoreKind& kind) {
    SCOPED_TRACE(kind.name);
    clock_ = std::make_shared<ManualClock>();
    store_ = kind.open(clock_);
    int point = 0;
    for (bool more = true; more && !HasFailure(); ++point) {
      SCOPED_TRACE("at point " + std::to_string(point));
      more = Play(point);
      ASSERT_LT(point, 1000) << "it has no end";
    }
    RecordProperty("points", point);
  }

  std::shared_ptr<ManualClock> clock_;
  std::shared_ptr<Store> store_;
};

TEST_P(PointsTest, TheHandlerIsCalledOnceAndNothingStaysLocked) {
  for (const StoreKind& kind : AllStores()) PlayAll(kind);
}

template <class T>
std::vector<std::string> NamesOf(const std::map<std::string, T>& all) {
  std::vector<std::string> names;
  for (const auto& [name, value] : all) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, PointsTest,
                         ::testing::Combine(::testing::ValuesIn(NamesOf(Verbs())),
                                            ::testing::ValuesIn(NamesOf(Strikes()))),
                         [](const auto& played) {
                           return std::get<0>(played.param) + std::get<1>(played.param);
                         });

}  // namespace
}  // namespace doclock::points_test
