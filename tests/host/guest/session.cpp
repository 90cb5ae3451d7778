#include "host/guest/session.h"

#include <array>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "doclock/doclock.h"
#include "doclock/observer.h"

namespace doclock::host_test {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
using Goods = LockingRepository<Json>;

/// Waits for what other threads do, instead of for a time.
class Watcher final : public Observer {
 public:
  void OnWaiting(const LockEvent&) override { Count(waiting_); }
  void OnRenewed(const LockEvent&) override { Count(renewed_); }
  void AwaitWaiter() { Await(waiting_); }
  void AwaitRenewal() { Await(renewed_); }

 private:
  void Count(int& count) {
    const std::lock_guard guard(mutex_);
    ++count;
    changed_.notify_all();
  }
  void Await(int& count) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, 1min, [&] { return count > 0; })) {
      throw std::runtime_error("nothing happened for a minute");
    }
    count = 0;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0, renewed_ = 0;
};

constexpr std::array kPrices{12.25, 12.75, -0.5, 0.1, 1e-7, 1e300, 1234567.5, 3.0};

void Insert(const Goods& goods, const std::string& key, double price) {
  goods.Insert(key, Json{{"price", price}, {"count", 1234567}, {"name", "I\u0130i\u0131"}});
}

std::string Keys(const Goods& goods, const Filter& filter) {
  std::string keys;
  for (const auto& found : goods.Find(filter)) keys += ' ' + found.key().ToString();
  return keys + '\n';
}

std::string Numbers(const Goods& goods) {
  std::string seen;
  for (std::size_t i = 0; i < kPrices.size(); ++i) Insert(goods, std::to_string(i), kPrices[i]);
  for (const double price : {12.25, 12.5}) {
    try {
      Insert(goods, "another", price);
      seen += "inserted\n";
    } catch (const ConflictException& error) {
      seen += "refused for " + error.index() + "\n";
    }
  }
  for (std::size_t i = 0; i < kPrices.size(); ++i) {
    const Json stored = *goods.Find(std::to_string(i)).value();
    seen += stored.at("price") == kPrices[i] ? "equal\n" : "not equal\n";
    seen += Keys(goods, Filter().Equal("price", kPrices[i]));
  }
  seen += Keys(goods, Filter().AtLeast("price", 12.3).Less("price", 12.76));
  seen += Keys(goods, Filter().Equal("count", 1234567).OrderBy("price"));
  seen += Keys(goods, Filter().Equal("name", "I\u0130i\u0131").OrderByDescending("price"));
  auto next = goods.TryLockNext(Filter().Equal("price", 12.25));
  seen += next ? "next " + next->key().ToString() + "\n" : "no next\n";
  return seen;
}

/// One holds the document, and another one waits for it.
std::string Queue(const Goods& holder, const Goods& waiter, Watcher& watcher) {
  auto held = holder.Lock("0", {.wait = 1min});
  (*held)["count"] = 2;
  std::string seen;
  std::thread other([&] {
    try {
      auto next = waiter.Lock("0", {.wait = 1min});
      seen = "waited for " + next->at("count").dump() + "\n";
    } catch (const std::exception& error) {
      seen = error.what();
    }
  });
  try {
    watcher.AwaitWaiter();
    held.Release();
  } catch (...) {
    other.join();
    throw;
  }
  other.join();
  return seen;
}

std::string Renewal(const Goods& goods, Watcher& watcher) {
  auto held = goods.Lock("1", {.ttl = 3s, .wait = 1min});
  watcher.AwaitRenewal();
  const bool lasts = held.held();
  held.Release();
  return lasts ? "renewed\n" : "lost\n";
}

std::string Metrics() {
  const Key key("1");
  const LockEvent event{"goods", key};
  PrometheusObserver metrics;
  metrics.OnGranted(event, 1500ms, false);
  std::string log;
  LogObserver logger([&](LogLevel, std::string_view line) { log += line; }, LogLevel::kDebug);
  logger.OnGranted(event, 1234567ms, false);
  return metrics.Text() + log + "\n";
}

}  // namespace

std::string Session(const std::string& url, const std::function<void()>& opened,
                    const std::function<void()>& used) {
  const auto watcher = std::make_shared<Watcher>();
  const auto store = OpenStore(url);
  const auto second = url == "memory:" ? store : OpenStore(url);
  opened();
  const LockManager manager(store, {.observer = watcher}), others(second, {.observer = watcher});
  const Goods goods(manager, "goods"), same(others, "goods");
  goods.EnsureIndex({"price"}, true);
  goods.EnsureIndex({"count"});
  std::string seen = Numbers(goods);
  seen += Queue(goods, same, *watcher);
  seen += Renewal(same, *watcher);
  seen += Metrics();
  used();
  for (const auto& found : goods.Find(Filter())) goods.Erase(found.key());
  return seen;
}

}  // namespace doclock::host_test
