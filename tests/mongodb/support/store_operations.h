#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "doclock/errors.h"
#include "mongodb/support/client.h"

namespace doclock::mongo_test {

/// The outcome of an operation.
struct Told {
  OpStatus status = OpStatus::kPending;
  std::int64_t version = 0;  ///< After a write that was done.
  std::optional<Errc> code;  ///< Of a failure.
  std::string why;

  Told() = default;
  template <class Op>
  explicit Told(const Op& op) : Told(static_cast<const StoreOp&>(op)) {
    version = op.result.version;
  }
  explicit Told(const RenewOp& op) : Told(static_cast<const StoreOp&>(op)) {}
  explicit Told(const StoreOp& op) : status(op.status), why(Why(op)) {
    if (op.status == OpStatus::kFailed) code = op.detail->code;
  }
};

/// A function that throws instead of having a status.
inline Told Tell(const std::function<void()>& call) {
  Told told;
  told.status = OpStatus::kDone;
  try {
    call();
  } catch (const InDoubtException& error) {
    told.status = OpStatus::kInDoubt;
    told.why = error.what();
  } catch (const Error& error) {
    told.status = OpStatus::kFailed;
    told.code = error.errc();
    told.why = error.what();
  }
  return told;
}

/// A document in the state that an operation is to find.
struct Scene {
  Client& good;    ///< Nothing goes wrong here.
  Client& faulty;  ///< The one under test.
  const Key& key;
  Uuid id = NewUuid();  ///< Of the lock that is held, or to be taken.
  std::int64_t version = 0;
  Uuid born{};
  Uuid waiter = NewUuid();

  void Exists() {
    const SaveOp op = good.Save(SaveKind::kInsert, key, 0, {}, Counted(1));
    ASSERT_EQ(op.status, OpStatus::kDone) << Why(op);
    version = op.result.version;
    born = op.result.born;
  }
  void Held() {
    const AcquireOp op = good.Acquire(key, id, Counted(1));
    ASSERT_EQ(op.status, OpStatus::kDone) << Why(op);
    version = op.result.version;
    born = op.result.born;
  }
  /// Another client waits for the lock.
  void Waited() {
    const AcquireOp op = good.Wait(key, waiter);
    ASSERT_EQ(op.status, OpStatus::kBusy) << Why(op);
    ASSERT_TRUE(op.result.queued);
  }
  void Expired() {
    Held();
    good.Expire(key);
    const ReadOp read = good.Read(key);
    ASSERT_EQ(read.status, OpStatus::kDone) << Why(read);
    version = read.result.version;
    id = NewUuid();
  }
};

struct Operation {
  std::string name;
  std::function<void(Scene&)> prepare;
  std::function<Told(Scene&)> run;
  OpStatus expected = OpStatus::kDone;  ///< When nothing goes wrong.
  bool writes = true;
  /// Its first command may change nothing; a majority that has the second has that one too.
  bool in_two_steps = false;
  bool leaves_entry = false;  ///< It writes though it is kBusy.
};

inline void PrintTo(const Operation& operation, std::ostream* out) { *out << operation.name; }

inline std::vector<Operation> Operations() {
  const auto exists = [](Scene& s) { s.Exists(); };
  const auto held = [](Scene& s) { s.Held(); };
  const auto expired = [](Scene& s) { s.Expired(); };
  const auto waited = [](Scene& s) {
    s.Held();
    s.Waited();
  };
  const auto nothing = [](Scene&) {};
  const auto acquire = [](Scene& s) { return Told(s.faulty.Acquire(s.key, s.id)); };
  const auto wait_where_others_did = [](Scene& s) {
    return Told(s.faulty.Acquire(s.key, {.id = s.id, .queue_for = kTtl, .queue_likely = true}));
  };
  const auto write = [](WriteKind kind) {
    return [kind](Scene& s) {
      return Told(s.faulty.Write(s.key, kind, s.id, {.expected = s.version, .body = Counted(2)}));
    };
  };
  return {
      {"AcquireFree", exists, acquire},
      {"AcquireMissing", nothing,
       [](Scene& s) { return Told(s.faulty.Acquire(s.key, s.id, Counted(1))); }},
      {"AcquireBusy", held, [](Scene& s) { return Told(s.faulty.Acquire(s.key, NewUuid())); },
       OpStatus::kBusy},
      {"AcquireExpired", expired, acquire},
      {"Wait", held, [](Scene& s) { return Told(s.faulty.Wait(s.key, NewUuid())); },
       OpStatus::kBusy, true, false, true},
      {"WaitInAQueue", waited, [](Scene& s) { return Told(s.faulty.Wait(s.key, NewUuid())); },
       OpStatus::kBusy, true, false, true},
      {"WaitWhereAQueueIsLikely",
       [](Scene& s) {
         s.Held();
         s.id = NewUuid();
       },
       wait_where_others_did, OpStatus::kBusy, true, false, true},
      {"WaitForALockThatIsOver", expired, wait_where_others_did},
      {"LeaveTheQueue", waited, [](Scene& s) { return Told(s.faulty.Leave(s.key, s.waiter)); }},
      {"LeaveTheLock", waited, [](Scene& s) { return Told(s.faulty.Leave(s.key, s.id)); }},
      {"ReleaseToAWaiter", waited, write(WriteKind::kRelease)},
      {"BreakForAWaiter", waited, [](Scene& s) { return Tell([&] { s.faulty.Break(s.key); }); }},
      {"AcquireWithMinHold", exists,
       [](Scene& s) {
         return Told(s.faulty.Acquire(s.key, {.id = s.id, .insert = Counted(1), .min_hold = 10s}));
       },
       OpStatus::kDone, true, true},
      {"Renew", held, [](Scene& s) { return Told(s.faulty.Renew(s.key, s.id)); }},
      {"RenewLost", expired, [](Scene& s) { return Told(s.faulty.Renew(s.key, s.id)); },
       OpStatus::kLost},
      {"Checkpoint", held, write(WriteKind::kCheckpoint)},
      {"Release", held, write(WriteKind::kRelease)},
      {"ReleaseLost", exists, write(WriteKind::kRelease), OpStatus::kLost},
      {"ReleaseWithHandOver", held,
       [](Scene& s) {
         GrantRequest next;
         next.lock_id = NewUuid();
         next.ttl = kTtl;
         return Told(s.faulty.Release(s.key, s.id,
                                      {.expected = s.version, .body = Counted(2), .next = &next}));
       }},
      {"ReleaseByValue", held,
       [](Scene& s) {
         return Told(s.faulty.Release(s.key, s.id, {.body = Counted(2), .merge = true}));
       }},
      {"Erase", held, write(WriteKind::kErase)},
      {"EraseByValue", held,
       [](Scene& s) { return Told(s.faulty.Write(s.key, WriteKind::kErase, s.id)); }},
      {"Insert", nothing,
       [](Scene& s) { return Told(s.faulty.Save(SaveKind::kInsert, s.key, 0, {}, Counted(1))); }},
      {"InsertExisting", exists,
       [](Scene& s) { return Told(s.faulty.Save(SaveKind::kInsert, s.key, 0, {}, Counted(2))); },
       OpStatus::kConflict},
      {"Replace", exists,
       [](Scene& s) {
         return Told(s.faulty.Save(SaveKind::kReplace, s.key, s.version, s.born, Counted(2)));
       }},
      {"ReplaceOverExpired", expired,
       [](Scene& s) {
         return Told(s.faulty.Save(SaveKind::kReplace, s.key, s.version, s.born, Counted(2)));
       }},
      {"ReplaceLocked", held,
       [](Scene& s) {
         return Told(s.faulty.Save(SaveKind::kReplace, s.key, s.version, s.born, Counted(2)));
       },
       OpStatus::kBusy},
      {"EraseFree", exists,
       [](Scene& s) { return Told(s.faulty.Save(SaveKind::kErase, s.key, s.version, s.born)); }},
      {"Read", held,
       [](Scene& s) {
         Told told(s.faulty.Read(s.key));
         told.version = 0;
         return told;
       },
       OpStatus::kDone, false},
      {"Query", exists,
       [](Scene& s) {
         int rows = 0;
         return Tell([&] {
           s.faulty.store().Query(
               s.faulty.collection(), Filter{},
               [&](QueryRow&&) {
                 ++rows;
                 return true;
               },
               s.faulty.budget());
           if (rows != 1) throw StoreException(Errc::kMalformed, "rows are missing");
         });
       },
       OpStatus::kDone, false},
      {"AcquireNext", exists,
       [](Scene& s) {
         Key found("none");
         AcquireOp op = s.faulty.AcquireOf(found, {.id = s.id});
         s.faulty.store().AcquireNext(Filter{}, op, found, s.faulty.budget());
         return Told(op);
       }},
      {"Purge", expired,
       [](Scene& s) {
         return Tell([&] {
           const auto purged = s.faulty.store().Purge(s.faulty.collection(), 1, s.faulty.budget());
           if (purged != 1) throw StoreException(Errc::kMalformed, "not purged");
         });
       }},
      {"Break", held, [](Scene& s) { return Tell([&] { s.faulty.Break(s.key); }); }},
  };
}

}  // namespace doclock::mongo_test
