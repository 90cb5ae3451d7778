#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "doclock/transaction.h"
#include "simulation/clients/program.h"
#include "simulation/clients/workload.h"
#include "simulation/play/random.h"

namespace doclock::simulation {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

inline constexpr std::array kEveryDocument = {"a", "a", "b", "e1", "e2"};

/// An exception of the program's own.
struct Tired : std::runtime_error {
  Tired() : std::runtime_error("tired") {}
};

/// One operation of one client. Its luck decides everything about it that its verb leaves open.
class Client {
 public:
  Client(std::shared_ptr<Program> program, Story& story, std::uint64_t luck)
      : program_(std::move(program)),
        story_(story),
        invariants_(program_->invariants()),
        luck_(luck) {}

  void Do(Verb verb);

 private:
  /// A request for a lock, at the moment before it is sent.
  struct Wish {
    std::string lock;
    LockOptions options;
    Time asked{};
    std::int64_t fence_floor = 0;
    std::ptrdiff_t read_floor = -1;
  };

  /// The next write of an entity.
  struct Written {
    std::string write;
    Entry& entry;
    Entry before;
  };

  /// A lock that this client believes to hold.
  template <class Handle>
  class Holding {
   public:
    Holding(Client& client, Handle& handle, const Wish& wish)
        : invariants_(client.invariants_), counts_(!client.program_->killed()) {
      if (!counts_) return;
      claim_ = invariants_.BeginClaim({.lock = wish.lock,
                                       .mode = wish.options.mode,
                                       .limit = wish.options.max_holders,
                                       .fence = handle.fence(),
                                       .asked = wish.asked,
                                       .process = &client.program_->process(),
                                       .program = client.program_->number(),
                                       .held = [&handle] { return handle.held(); },
                                       .group = std::string(wish.options.group)},
                                      wish.fence_floor);
    }
    Holding(const Holding&) = delete;
    Holding& operator=(const Holding&) = delete;
    ~Holding() { End(); }
    /// It begins to give the lock back.
    void End() {
      if (std::exchange(counts_, false)) invariants_.EndClaim(claim_);
    }

   private:
    Invariants& invariants_;
    bool counts_;
    Invariants::ClaimId claim_;
  };

  // documents.cpp
  void HoldDocument(bool create);
  void HoldNext();
  void HoldAll();
  void ReleaseByLetter();
  /// Holds it for a while, and gives it back in one of the ways there are.
  void Use(Locked<Entry> handle, const Wish& wish);
  void GiveBack(Locked<Entry>& handle, const Wish& wish, Holding<Locked<Entry>>& holding);
  void Release(Locked<Entry>& handle, const std::string& document);
  void GiveBackByValue(Locked<Entry>& handle, const std::string& document);
  void ReleaseByValue(Entry& entry, std::int64_t fence);

  // transactions.cpp
  struct Held;
  void Transfer();
  void Transfer(Held& held, bool keeps);
  void TransferOnce(Held& held, bool keeps, bool may_be_refused);
  void Move();
  /// Moves an amount from the first entity to the second, with all else that is in the transaction.
  void Commit(Transaction& transaction, const std::vector<Written>& writes);
  std::pair<Snapshot<Entry>, Snapshot<Entry>> ReadTwo();

  // names.cpp
  void HoldName(const char* name, bool shared);
  void HoldNames();
  void HoldForgettable();
  void HoldInCrowd();
  void UseName(HeldLock handle, const Wish& wish);
  void RenewGroup();
  void ReleaseGroup();
  void Break();
  void Purge();

  // optimistic.cpp
  void Find();
  void Search();
  void Save();
  void SaveSnapshot(Snapshot<Entry>& snapshot);
  void Update();
  void Insert();
  void Erase();

  [[nodiscard]] LockOptions Options();
  [[nodiscard]] Wish WishFor(std::string lock, const LockOptions& options);
  [[nodiscard]] std::optional<std::chrono::nanoseconds> Patience() {
    if (!luck_.Chance(100)) return std::nullopt;
    return luck_.Between(milliseconds(1), milliseconds(1500));
  }
  void Sleep(milliseconds most) {
    if (luck_.Chance(400)) program_->process().Sleep(luck_.Between(milliseconds(0), most));
  }
  void Tell(const std::string& line) {
    if (story_.told()) story_.Tell(program_->Name() + ": " + line);
  }
  /// Now and then another seat, which another document may have.
  [[nodiscard]] std::optional<std::int64_t> AnotherSeat() {
    if (!luck_.Chance(200)) return std::nullopt;
    return luck_.Between<std::int64_t>(0, 3);
  }

  template <class Result, class Start>
  Result Await(const std::string& what, const Start& start) {
    Tell("asks to " + what);
    return program_->Await<Result>(what, start);
  }
  /// For a call that may wait for several locks, or for any.
  template <class Result, class Start>
  Result AwaitAny(const std::string& what, const Start& start) {
    Tell("asks to " + what);
    const auto patience = Patience();
    Queues& queues = invariants_.queues();
    queues.BeginAny(program_->number());
    return program_->Await<Result>(
        what, start, patience,
        [&queues, program = program_->number()](bool) { queues.EndAny(program); });
  }
  /// For a call that may wait for one lock.
  template <class Result, class Start>
  Result AwaitLock(const Wish& wish, const Start& start) {
    Tell("asks to lock " + wish.lock + (wish.options.mode == LockMode::kShared ? " shared" : "") +
         ", ttl " + std::to_string(wish.options.ttl.count()) + " ms, wait " +
         std::to_string(wish.options.wait.count()) + " ms");
    const auto patience = Patience();
    std::function<void(bool)> on_complete;
    if (wish.options.wait > Duration()) {
      on_complete = [&rules = invariants_,
                     call = invariants_.queues().Begin(program_->number(), wish.lock)](
                        bool granted) { rules.EndWait(call, granted); };
    }
    return program_->Await<Result>("lock " + wish.lock, start, patience, on_complete);
  }

  /// Starts writes that are stored together, and remembers what it was told of them.
  template <class Start>
  void Settle(const std::vector<std::string>& writes, const Start& start) {
    const auto settle = [&](Fate fate, const char* word) {
      const bool told = fate != Fate::kDone || program_->breakage() != Breakage::kReadsBackwards;
      if (program_->killed() || !told) return;
      for (const std::string& write : writes) {
        Tell("is told that " + write + " is " + word);
        invariants_.Settle(write, fate);
      }
    };
    try {
      start();
    } catch (const InDoubtException&) {
      settle(Fate::kUnknown, "in doubt");
      throw;
    } catch (...) {
      settle(Fate::kRefused, "refused");
      throw;
    }
    settle(Fate::kDone, "done");
  }
  Written NextWrite(const std::string& document, std::int64_t fence, Entry& entry) {
    Written next{invariants_.NewWrite(document, fence), entry, entry};
    entry.Continue(next.write);
    return next;
  }
  /// The same with the next writes of entities, which these forget if they are not done.
  template <class Start>
  void Write(const std::vector<Written>& together, const Start& start) {
    std::vector<std::string> writes;
    for (const Written& one : together) writes.push_back(one.write);
    try {
      Settle(writes, start);
    } catch (...) {
      for (const Written& one : together) one.entry.GoBackTo(one.before);
      throw;
    }
  }
  template <class Start>
  void Write(const std::string& document, std::int64_t fence, Entry& entry, const Start& start,
             std::optional<std::int64_t> seat = std::nullopt) {
    const Written next = NextWrite(document, fence, entry);
    entry.seat = seat.value_or(entry.seat);
    Write({next}, start);
  }

  const std::shared_ptr<Program> program_;
  Story& story_;
  Invariants& invariants_;
  Random luck_;
};

}  // namespace doclock::simulation
