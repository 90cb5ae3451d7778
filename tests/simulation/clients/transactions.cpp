/// Several documents at one moment: reads, and writes that are stored together.

#include <tuple>

#include "doclock/lock_all.h"
#include "doclock/update.h"
#include "simulation/clients/client.h"

namespace doclock::simulation {
namespace {

constexpr const char* kFirst = "entries/a";
constexpr const char* kSecond = "entries/b";
constexpr const char* kName = "names/mutex";
constexpr const char* kThird = "entries/e2";
constexpr std::array<Duration, 4> kHolds = {1ms, 100ms, 1000ms, kForever};

}  // namespace

struct Client::Held {
  Locked<Entry>& first;
  Locked<Entry>& second;
  HeldLock& name;
};

std::pair<Snapshot<Entry>, Snapshot<Entry>> Client::ReadTwo() {
  Tell("asks to read a and b");
  auto [a, b] = Read(program_->entries->At("a"), program_->entries->At("b"));
  std::pair<Snapshot<Entry>, Snapshot<Entry>> found(std::move(a.value()), std::move(b.value()));
  if (program_->killed()) return found;
  invariants_.CheckFound(kFirst, found.first->write);
  invariants_.CheckFound(kSecond, found.second->write);
  invariants_.CheckSum(found.first->amount + found.second->amount);
  return found;
}

void Client::Move() {
  auto found = ReadTwo();
  Sleep(500ms);
  Transaction both(program_->manager());
  both.Save(*program_->entries, found.first).Save(*program_->entries, found.second);
  Commit(both, {NextWrite(kFirst, 0, *found.first), NextWrite(kSecond, 0, *found.second)});
}

void Client::Transfer() {
  LockOptions options = Options();
  options.hold_while_waiting = luck_.Pick(kHolds);
  const Wish a = WishFor(kFirst, options), b = WishFor(kSecond, options),
             name = WishFor(kName, options);
  using Locks = std::tuple<Locked<Entry>, HeldLock, Locked<Entry>>;
  Locks locks = AwaitAny<Locks>("lock b, a name and a", [&](auto token) {
    LockAllAsync(options, token, program_->entries->At("b"), program_->names->At(kNames[0]),
                 program_->entries->At("a"));
  });
  Held held{std::get<2>(locks), std::get<0>(locks), std::get<1>(locks)};
  Tell("holds a, b and a name");
  Holding<Locked<Entry>> holding_a(*this, held.first, a), holding_b(*this, held.second, b);
  Holding<HeldLock> holding_name(*this, held.name, name);
  if (!program_->killed()) {
    invariants_.CheckRead(kFirst, held.first->write, a.read_floor);
    invariants_.CheckRead(kSecond, held.second->write, b.read_floor);
  }
  if (luck_.Chance(400)) Transfer(held, true);
  Sleep(3000ms);
  holding_a.End();
  holding_b.End();
  holding_name.End();
  if (luck_.Chance(900)) Transfer(held, false);
}

void Client::Transfer(Held& held, bool keeps) {
  try {
    return TransferOnce(held, keeps, true);
  } catch (const ConflictException&) {
    Tell("is refused one document, and has all locks still");
  }
  try {
    TransferOnce(held, keeps, false);
  } catch (const std::logic_error& error) {
    invariants_.Break("a refused write leaves its lock held", error.what());
  }
}

void Client::TransferOnce(Held& held, bool keeps, bool may_be_refused) {
  Transaction all(program_->manager());
  if (keeps) {
    all.Save(held.first).Keep(held.name).Save(held.second);
  } else {
    all.Release(held.first).Release(held.name).Release(held.second);
  }
  std::vector<Written> writes{NextWrite(kFirst, held.first.fence(), *held.first),
                              NextWrite(kSecond, held.second.fence(), *held.second)};
  Entry missing{kMissing};
  if (may_be_refused) held.second->seat = AnotherSeat().value_or(held.second->seat);
  if (may_be_refused && luck_.Chance(200)) {
    writes.push_back(NextWrite(kThird, 0, missing));
    all.Insert(*program_->entries, missing);
  }
  Commit(all, writes);
}

void Client::Commit(Transaction& transaction, const std::vector<Written>& writes) {
  const auto amount = luck_.Between<std::int64_t>(1, 9);
  writes[0].entry.amount -= amount;
  writes[1].entry.amount += amount;
  std::vector<std::string> names;
  for (const Written& one : writes) names.push_back(one.write);
  const std::string what = "commit " + names.front() + " to " + names.back();
  invariants_.StoredTogether(std::move(names));
  Write(writes, [&] { Await<Nothing>(what, [&](auto token) { transaction.CommitAsync(token); }); });
}

}  // namespace doclock::simulation
