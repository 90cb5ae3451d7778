#include <functional>
#include <map>
#include <string>

#include "checks.h"
#include "race.h"

// What one of several clients may do.

namespace doclock::conformance {
namespace {

constexpr int kDocuments = 50;

/// A thread of its own for each client: `once` is tried by all of them at the same time, and true
/// for one of them, round by round. `afterwards` follows each round, on one thread.
using Try = std::function<bool(Client& client, std::size_t place, int round)>;
using Look = std::function<void(Client& client, int round)>;

void EachRound(Race& race, const char* what, const Try& once, const Look& afterwards = {}) {
  std::vector<std::atomic<int>> times(static_cast<std::size_t>(race.rounds()));
  race.Run([&](Client& client, std::size_t place) {
    for (int round = 0; round < race.rounds(); ++round) {
      if (!race.Meet()) return;
      if (once(client, place, round)) ++times[static_cast<std::size_t>(round)];
      if (!race.Meet()) return;
      if (place != 0) continue;
      race.ExpectEqual(what, times[static_cast<std::size_t>(round)], 1);
      if (afterwards) afterwards(client, round);
    }
  });
}

/// True if it is done; otherwise it has to be `refused`.
bool IsDone(Race& race, const char* what, const StoreOp& op, OpStatus refused) {
  if (op.status == OpStatus::kDone) return true;
  race.Expect(what, op, refused);
  return false;
}

/// False: values are repeated.
bool IsMade(Client& client, const IndexSpec& index) {
  try {
    client.EnsureIndex(index);
    return true;
  } catch (const ConflictException&) {
    return false;
  }
}

}  // namespace

std::string CreateOnce(std::vector<Client>& clients) {
  Race race(clients);
  EachRound(race, "clients that were granted a new document",
            [&](Client& client, std::size_t, int round) {
              const AcquireOp op = client.Acquire(round, {.insert = MakeBody({{"round", round}})});
              if (!IsDone(race, "an attempt", op, OpStatus::kBusy)) return false;
              if (!op.result.created)
                race.Break("a document was created, and by none of its clients");
              return true;
            });
  return race.fault();
}

std::string InsertAndEraseOnce(std::vector<Client>& clients) {
  Race race(clients);
  std::vector<Uuid> born(static_cast<std::size_t>(race.rounds()));
  EachRound(
      race, "clients that inserted a document",
      [&](Client& client, std::size_t place, int round) {
        return IsDone(race, "an insert", client.Insert(round, {{"by", place}}),
                      OpStatus::kConflict);
      },
      [&](Client& client, int round) {
        born[static_cast<std::size_t>(round)] = client.Read(round).result.born;
      });
  EachRound(race, "clients that erased a document", [&](Client& client, std::size_t, int round) {
    return IsDone(race, "an erasure", client.Erase(round, 1, born[static_cast<std::size_t>(round)]),
                  OpStatus::kMissing);
  });
  return race.fault();
}

std::string InsertUniqueValuesOnce(std::vector<Client>& clients) {
  Race race(clients);
  clients.front().EnsureIndex({{"round"}, true});
  EachRound(race, "documents with one value of a unique index",
            [&](Client& client, std::size_t place, int round) {
              const Key key(std::to_string(round) + "/" + std::to_string(place));
              return IsDone(race, "an insert", client.Insert(key, {{"round", round}}),
                            OpStatus::kConflict);
            });
  return race.fault();
}

std::string IndexBesideAnInsert(std::vector<Client>& clients) {
  constexpr int kIndexes = 50;
  Race race(clients);
  std::vector<std::atomic<int>> done(kIndexes);
  race.Run([&](Client& client, std::size_t place) {
    for (std::size_t round = 0; round < kIndexes; ++round) {
      Client things = client.Open("indexed-" + std::to_string(round));
      if (place == 0) race.Expect("an insert", things.Insert("first", {{"n", 1}}), OpStatus::kDone);
      if (!race.Meet()) return;
      if (place == 0 && IsMade(things, {{"n"}, true})) ++done[round];
      if (place + 1 == clients.size()) {
        // Sooner or later, so that it meets each moment of the other.
        for (std::size_t i = 0; i < round % 8; ++i) things.Read("first");
        const SaveOp insert = things.Insert("second", {{"n", 1}});
        if (IsDone(race, "an insert", insert, OpStatus::kConflict)) ++done[round];
      }
      if (!race.Meet()) return;
      if (done[round] == 2) race.Break("a unique index was made, and a value of it repeated");
    }
  });
  return race.fault();
}

std::string TakeEachOnce(std::vector<Client>& clients) {
  Race race(clients);
  for (int n = 0; n < kDocuments; ++n) clients.front().Insert(n, {{"n", n}});
  std::mutex mutex;
  std::map<Key, int> taken;
  const auto take_all = [&](Client& client) {
    while (!race.broken()) {
      const Client::Next next = client.AcquireNext(Filter().OrderBy("n"));
      if (!IsDone(race, "an attempt at the next document", next.op, OpStatus::kMissing)) return;
      const std::lock_guard guard(mutex);
      race.ExpectEqual("clients that took one document", ++taken[next.key], 1);
    }
  };
  race.Run([&](Client& client, std::size_t) { take_all(client); });
  take_all(clients.front());  // a document that others were about to take may have been passed over
  if (!race.broken()) {
    race.ExpectEqual("documents that were taken", static_cast<std::int64_t>(taken.size()),
                     kDocuments);
  }
  return race.fault();
}

}  // namespace doclock::conformance
