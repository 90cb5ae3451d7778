#include <array>
#include <atomic>
#include <thread>

#include "checks.h"
#include "race.h"

// Counters: what two clients do at the same time is missing from the sum.

namespace doclock::conformance {
namespace {

/// No lease ends by itself, on a real server neither.
constexpr std::chrono::milliseconds kLong = 1h;

int CountOf(const Body& body) { return body.json().at("n").get<int>(); }
Body Counted(int n) { return MakeBody({{"n", n}}); }

/// Asks until the lock is granted. The result is anything else only if the race is broken.
AcquireOp Take(Race& race, Client& client, const Key& key, const AcquireArgs& args) {
  for (;;) {
    AcquireOp op = client.Acquire(key, args);
    if (op.status != OpStatus::kBusy) {
      race.Expect("an attempt", op, OpStatus::kDone);
      return op;
    }
    if (race.broken()) return op;
    race.Met();
  }
}

/// One document that is counted up, and what it should show.
class Counter {
 public:
  Counter(Race& race, Client& client, const char* key = "counter")
      : race_(race), key_(key), holders_(race) {
    race.Expect("an insert", client.Insert(key_, {{"n", 0}}), OpStatus::kDone);
  }

  [[nodiscard]] const Key& key() const noexcept { return key_; }
  Holders& holders() noexcept { return holders_; }
  void Add() noexcept { ++sum_; }

  void UnderTheLock(Client& client, AcquireArgs args = {}) {
    args.id = FreshId();
    args.ttl = kLong;
    const AcquireOp grant = Take(race_, client, key_, args);
    if (grant.status != OpStatus::kDone) return;
    holders_.Enter();
    const Body next = Counted(CountOf(grant.result.body) + 1);
    std::this_thread::yield();  // for others to come
    holders_.Leave();
    race_.Expect("a holder's release", client.Release(key_, grant, next), OpStatus::kDone);
    Add();
  }

  void ByVersion(Client& client) {
    while (!race_.broken()) {
      const ReadOp seen = client.Read(key_);
      if (seen.status != OpStatus::kDone) return race_.Expect("a read", seen, OpStatus::kDone);
      std::this_thread::yield();  // for others to come
      const SaveOp saved = client.Replace(key_, seen.result.version, seen.result.born,
                                          {{"n", CountOf(seen.result.body) + 1}});
      if (saved.status == OpStatus::kConflict || saved.status == OpStatus::kBusy) {
        race_.Met();
        continue;
      }
      race_.Expect("a save", saved, OpStatus::kDone);
      return Add();
    }
  }

  /// What is wrong in the end.
  std::string Fault(Client& client) {
    const ReadOp read = client.Read(key_);
    race_.Expect("the last read", read, OpStatus::kDone);
    if (read.status == OpStatus::kDone)
      race_.ExpectEqual("the sum", CountOf(read.result.body), sum_);
    return race_.fault();
  }

 private:
  Race& race_;
  const Key key_;
  Holders holders_;
  std::atomic<int> sum_ = 0;
};

std::string CountWith(std::vector<Client>& clients, const AcquireArgs& args) {
  Race race(clients);
  Counter counter(race, clients.front());
  race.Run([&](Client& client, std::size_t) {
    while (race.Next()) counter.UnderTheLock(client, args);
  });
  return counter.Fault(clients.front());
}

/// One turn with two counters. Gives back those locks that were granted.
void CountBoth(Race& race, Client& client, std::array<Counter*, 2> counters) {
  std::vector<AcquireOp> takes;
  std::vector<StoreOp*> batch;
  takes.reserve(counters.size());
  for (const Counter* counter : counters) {
    AcquireOp& op = takes.emplace_back(client.collection(), counter->key());
    op.request.grant.lock_id = FreshId();
    op.request.grant.ttl = kLong;
    batch.push_back(&op);
  }
  client.Execute(batch);
  std::vector<WriteOp> releases;
  std::vector<StoreOp*> second;
  releases.reserve(counters.size());
  for (std::size_t i = 0; i < counters.size(); ++i) {
    if (takes[i].status == OpStatus::kBusy) {
      race.Met();
      continue;
    }
    race.Expect("an attempt", takes[i], OpStatus::kDone);
    if (race.broken()) return;
    counters[i]->holders().Enter();
    WriteOp& op = releases.emplace_back(client.collection(), counters[i]->key());
    op.request.lock_id = takes[i].request.grant.lock_id;
    op.request.expected = takes[i].result.version;
    op.request.body = Counted(CountOf(takes[i].result.body) + 1);
    second.push_back(&op);
    counters[i]->Add();
  }
  std::this_thread::yield();  // for others to come
  for (std::size_t i = 0; i < counters.size(); ++i) {
    if (takes[i].status == OpStatus::kDone) counters[i]->holders().Leave();
  }
  if (second.empty()) return;
  client.Execute(second);
  for (const WriteOp& op : releases) race.Expect("a holder's release", op, OpStatus::kDone);
}

}  // namespace

std::string CountUnderTheLock(std::vector<Client>& clients) { return CountWith(clients, {}); }

std::string CountInTheQueue(std::vector<Client>& clients) {
  return CountWith(clients, {.queue_for = kLong});
}

std::string CountInBatches(std::vector<Client>& clients) {
  Race race(clients);
  Counter a(race, clients.front(), "a"), b(race, clients.front(), "b");
  race.Run([&](Client& client, std::size_t place) {
    const bool turned = place % 2 != 0;
    while (race.Next()) CountBoth(race, client, {turned ? &b : &a, turned ? &a : &b});
  });
  static_cast<void>(a.Fault(clients.front()));
  return b.Fault(clients.front());
}

std::string CountByVersion(std::vector<Client>& clients) {
  Race race(clients);
  Counter counter(race, clients.front());
  race.Run([&](Client& client, std::size_t) {
    while (race.Next()) counter.ByVersion(client);
  });
  return counter.Fault(clients.front());
}

std::string CountBesideTheLock(std::vector<Client>& clients) {
  Race race(clients);
  Counter counter(race, clients.front());
  race.Run([&](Client& client, std::size_t place) {
    while (race.Next()) place % 2 == 0 ? counter.ByVersion(client) : counter.UnderTheLock(client);
  });
  return counter.Fault(clients.front());
}

std::string ShareBesideHolders(std::vector<Client>& clients) {
  constexpr int kShares = 2;
  const Key key("shared");
  Race race(clients);
  Holders holders(race, kShares);
  race.Expect("an insert", clients.front().Insert(key, {}), OpStatus::kDone);
  race.Run([&](Client& client, std::size_t) {
    AcquireArgs args{.ttl = kLong, .max_holders = kShares};
    for (int turn = 0; race.Next(); ++turn) {
      const bool alone = turn % 3 == 0;
      args.mode = alone ? LockMode::kExclusive : LockMode::kShared;
      args.id = FreshId();
      const AcquireOp grant = Take(race, client, key, args);
      if (grant.status != OpStatus::kDone) return;
      holders.Enter(args.mode);
      std::this_thread::yield();  // for others to come
      holders.Leave(args.mode);
      const WriteOp released = client.Release(key, args.id, {.mode = args.mode});
      race.Expect("a holder's release", released, OpStatus::kDone);
    }
  });
  race.ExpectEqual("locks that are left", static_cast<std::int64_t>(clients.front().Locks().size()),
                   0);
  return race.fault();
}

}  // namespace doclock::conformance
