#include <algorithm>
#include <string_view>

#include "conformance/suite/client.h"
#include "doclock/detail/facade.h"
#include "engine/procedures/procedure.h"
#include "engine/support/harness.h"

namespace doclock::detail {
namespace {

/// A reply is lost, and before the engine looks another client moves the document: every verb with
/// every loss and every move. The reported outcome must be the real one, and no orphaned lock may
/// stay behind. Without a move the outcome is known.

/// What the store really did for the engine.
struct Effect {
  OpKind kind;
  Uuid id;  ///< Lock id or write id; the next holder's for a hand-over.
  std::int64_t version;
  Uuid born;
  bool created;
  Body body;  ///< Of a write, if it had one.
};

class Recorder : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;

  std::vector<Effect> effects;

  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override {
    FaultyStore::Execute(ops, budget);
    for (const StoreOp* op : ops) {
      if (op->status == OpStatus::kDone) Note(*op);
    }
  }
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                   std::chrono::milliseconds budget) override {
    FaultyStore::AcquireNext(filter, op, key, budget);
    if (op.status == OpStatus::kDone) Note(op);
  }
  [[nodiscard]] std::vector<Effect> Of(OpKind kind) const {
    std::vector<Effect> found;
    for (const Effect& effect : effects) {
      if (effect.kind == kind) found.push_back(effect);
    }
    return found;
  }

 private:
  void Note(const StoreOp& op) {
    if (op.kind == OpKind::kAcquire) {
      const auto& acquire = static_cast<const AcquireOp&>(op);
      effects.push_back({op.kind, acquire.request.grant.lock_id, acquire.result.version,
                         acquire.result.born, acquire.result.created, Body()});
    } else if (op.kind == OpKind::kWrite) {
      const auto& write = static_cast<const WriteOp&>(op);
      effects.push_back({op.kind,
                         write.request.next ? write.request.next->lock_id : write.request.lock_id,
                         write.result.version, Uuid{}, false, write.request.body});
      if (write.request.next) {  // a grant too
        effects.push_back({OpKind::kAcquire, write.request.next->lock_id, write.result.version,
                           Uuid{}, false, Body()});
      }
    } else if (op.kind == OpKind::kSave) {
      const auto& save = static_cast<const SaveOp&>(op);
      effects.push_back({op.kind, save.request.write_id, save.result.version, save.result.born,
                         false, save.request.body});
    }
  }
};

/// One manager and one document "a", and another client who goes to the store itself.
struct World {
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::shared_ptr<Store> memory = OpenMemoryStore({.clock = clock});
  std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>(memory);
  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(recorder);
  LockManager manager{store, {.runtime = clock->runtime()}};
  std::shared_ptr<Collection> collection = store->Open("orders", {}, 30s);
  const Key key = "a";

  Grant held;                         ///< What the verb is about, or what it locked.
  ReadResult seen;                    ///< What an optimistic verb has read.
  std::optional<AcquireResult> next;  ///< Of a waiter.

  [[nodiscard]] EnginePtr engine() const { return manager.engine(); }
  static Body N(int n) { return Body::FromJson({{"n", n}}); }

  AcquireSpec Spec(LockOptions options = {}) const {
    AcquireSpec spec = MakeSpec(engine(), *collection, options, 5s);
    spec.key = key;
    spec.insert = N(0);
    return spec;
  }
  FailurePtr Take(LockOptions options = {}) {
    AcquireResult result = Acquire(engine(), Spec(options), {});
    held = std::move(result.grant);
    return std::move(result.failure);
  }
  void Make() {
    ASSERT_FALSE(Take());
    ASSERT_FALSE(Write(held.lease, WriteKind::kRelease, N(0)));
    held.lease = nullptr;
    seen = Read(engine(), *collection, key);
  }
  SaveSpec Seen(SaveKind kind, Body body = {}) const {
    SaveSpec spec;
    spec.collection = collection.get();
    spec.key = key;
    spec.save = kind;
    spec.expected = seen.version;
    spec.born = seen.born;
    spec.body = std::move(body);
    return spec;
  }

  ReadOp Look() const { return conformance::Client(memory, "orders").Read(key); }
};

// ---- The other client -----------------------------------------------------------------------

struct Rival {
  World& world;
  conformance::Client client{world.memory, "orders"};
  Uuid lock = NewUuid();

  void Force(decltype(testing::BreakLock)& act) {
    try {
      act(*world.memory, world.collection->name(), world.key);
    } catch (const Error&) {  // nothing to break
    }
  }
  void Take(LockMode mode = LockMode::kExclusive) {
    client.Acquire(world.key, {.id = lock, .ttl = 3s, .mode = mode});
  }
  void Save(SaveKind kind, Body body) {
    const ReadOp seen = client.Read(world.key);
    client.Save(kind, world.key, seen.result.version, seen.result.born, std::move(body));
  }
};

struct Move {
  const char* name;
  void (*make)(Rival&);
};

constexpr Move kForces[] = {
    {"", [](Rival&) {}},
    {"break, ", [](Rival& r) { r.Force(testing::BreakLock); }},
    {"expire, ", [](Rival& r) { r.Force(testing::ExpireLock); }},
    {"steal, ", [](Rival& r) { r.Force(testing::StealLock); }},
};

constexpr Move kMoves[] = {
    {"nothing", [](Rival&) {}},
    {"lock", [](Rival& r) { r.Take(); }},
    {"share", [](Rival& r) { r.Take(LockMode::kShared); }},
    {"lock and save",
     [](Rival& r) {
       r.Take();
       r.client.Write(r.world.key, WriteKind::kCheckpoint, r.lock,
                      {.body = World::N(99), .ttl = 3s});
     }},
    {"lock and release",
     [](Rival& r) {
       r.Take();
       r.client.Release(r.world.key, r.lock, {.body = World::N(99), .ttl = 3s});
     }},
    {"lock and discard",
     [](Rival& r) {
       r.Take();
       r.client.Release(r.world.key, r.lock);
     }},
    {"save", [](Rival& r) { r.Save(SaveKind::kReplace, World::N(99)); }},
    {"erase", [](Rival& r) { r.Save(SaveKind::kErase, Body()); }},
    {"erase and make",
     [](Rival& r) {
       r.Save(SaveKind::kErase, Body());
       r.Save(SaveKind::kInsert, World::N(99));
     }},
    {"erase, make and lock",
     [](Rival& r) {
       r.Save(SaveKind::kErase, Body());
       r.Save(SaveKind::kInsert, World::N(99));
       r.Take();
     }},
    {"the request arrives", [](Rival& r) { r.world.store->ReleaseLate(); }},
};

// ---- The verbs ------------------------------------------------------------------------------

/// The reported outcome of a verb, and its comparison with the real one.
struct Told {
  FailurePtr failure;
  std::int64_t version = 0;
  Uuid born{};
};

struct Verb {
  const char* name;
  OpKind lost;  ///< Of which operation the reply is lost.
  void (*prepare)(World&);
  Told (*act)(World&);
  void (*done)(const World&, const Told&);  ///< Checks what was told to be done.
  /// What is told when no other client interferes and the request is lost, the reply is lost, and
  /// the request is late: done (d) or in doubt (?).
  const char* alone = "ddd";
};

void Nothing(World&) {}
void Made(World& w) { w.Make(); }
void Held(World& w) { ASSERT_FALSE(w.Take()); }
void Shared(World& w) { ASSERT_FALSE(w.Take({.mode = LockMode::kShared})); }
void Detached(World& w) {
  Held(w);
  ASSERT_FALSE(Detach(w.held.lease));
}

Told ToldOf(FailurePtr failure) {
  return {.failure = std::move(failure), .version = 0, .born = {}};
}
Told WriteHeld(World& w, WriteKind kind, Body body) {
  Told told = ToldOf(Write(w.held.lease, kind, std::move(body)));
  told.version = LeaseVersion(*w.held.lease);
  return told;
}
Told SaveSeen(World& w, SaveSpec spec) {
  SaveResult result = Save(w.engine(), std::move(spec));
  return {std::move(result.failure), result.version, result.born};
}
template <bool kAnyVersionWillDo>
Told ReleaseCopy(World& w) {
  ValueRelease release;
  release.collection = w.collection.get();
  release.key = w.key;
  release.lock_id = LeaseLockId(*w.held.lease);
  if (!kAnyVersionWillDo) release.version = LeaseVersion(*w.held.lease);
  release.fields = World::N(1);
  return ToldOf(ReleaseByValue(w.engine(), std::move(release)));
}
Told UpdateIt(World& w) {
  try {
    const Binding binding{w.engine(), w.collection, {.update_wait = 0s}};
    UpdateDocument(binding, {w.key, [](const Body&) { return World::N(1); }, {}}, {});
  } catch (const Error& error) {
    return ToldOf(MakeFailure(error.errc(), error.what()));
  }
  return {};
}

/// A lock: its fence is the version of the grant, and `created` says whether this call made it.
void Granted(const World& w, const Told&) {
  ASSERT_TRUE(w.held.lease);
  const auto grants = w.recorder->Of(OpKind::kAcquire);
  const auto mine = std::find_if(grants.begin(), grants.end(), [&](const Effect& grant) {
    return grant.id == LeaseLockId(*w.held.lease);
  });
  ASSERT_NE(mine, grants.end()) << "no recorded grant has this id";
  if (w.held.lease->mode == LockMode::kShared) {
    EXPECT_GE(LeaseFence(*w.held.lease), mine->version);
  } else {
    EXPECT_EQ(LeaseFence(*w.held.lease), mine->version);
  }
  EXPECT_EQ(LeaseVersion(*w.held.lease), LeaseFence(*w.held.lease));
  const bool made = std::any_of(grants.begin(), grants.end(), [&](const Effect& grant) {
    return grant.created && grant.born == mine->born;
  });
  EXPECT_EQ(w.held.created, made);
}

/// A write with a body: it happened once, and left the version that was told.
void WrittenOnce(const World& w, OpKind kind, const Told& told) {
  std::vector<Effect> written;
  for (const Effect& effect : w.recorder->Of(kind)) {
    if (effect.body && effect.body.json()["n"] == 1) written.push_back(effect);
  }
  ASSERT_EQ(written.size(), 1U) << "told to be done";
  if (told.version != 0) {
    EXPECT_EQ(told.version, written[0].version);
  }
  if (!told.born.is_nil()) {
    EXPECT_EQ(told.born, written[0].born.is_nil() ? w.seen.born : written[0].born);
  }
}
void Saved(const World& w, const Told& told) { WrittenOnce(w, OpKind::kSave, told); }
void Written(const World& w, const Told& told) { WrittenOnce(w, OpKind::kWrite, told); }
void SavedOrWritten(const World& w, const Told& told) {
  const auto saves = w.recorder->Of(OpKind::kSave);
  saves.empty() ? Written(w, told) : Saved(w, told);
}
void Unlocked(const World& w, const Told&) {
  EXPECT_NE(w.Look().result.lock_id, LeaseLockId(*w.held.lease));
}
void Erased(const World& w, const Told&) {
  EXPECT_NE(w.Look().result.born, w.seen.born) << "what was erased is still there";
}
void NoMatter(const World&, const Told&) {}

constexpr Verb kVerbs[] = {
    {"lock", OpKind::kAcquire, Made, [](World& w) { return ToldOf(w.Take()); }, Granted},
    {"lock of a missing one", OpKind::kAcquire, Nothing, [](World& w) { return ToldOf(w.Take()); },
     Granted, "?d?"},
    {"share", OpKind::kAcquire, Made,
     [](World& w) { return ToldOf(w.Take({.mode = LockMode::kShared})); }, Granted},
    {"share of a missing one", OpKind::kAcquire, Nothing,
     [](World& w) { return ToldOf(w.Take({.mode = LockMode::kShared})); }, Granted, "?d?"},
    {"lock next", OpKind::kAcquire, Made,
     [](World& w) {
       AcquireResult result = AcquireNext(w.engine(), w.Spec(), {});
       w.held = std::move(result.grant);
       return ToldOf(std::move(result.failure));
     },
     Granted, "???"},
    {"save of a snapshot", OpKind::kSave, Made,
     [](World& w) { return SaveSeen(w, w.Seen(SaveKind::kReplace, World::N(1))); }, Saved},
    {"insert", OpKind::kSave, Nothing,
     [](World& w) { return SaveSeen(w, w.Seen(SaveKind::kInsert, World::N(1))); }, Saved, "?d?"},
    {"erase of a snapshot", OpKind::kSave, Made,
     [](World& w) { return SaveSeen(w, w.Seen(SaveKind::kErase)); }, Erased},
    {"erase of a key", OpKind::kSave, Made,
     [](World& w) {
       SaveSpec any = w.Seen(SaveKind::kErase);
       any.expected = kAnyVersion;
       return SaveSeen(w, std::move(any));
     },
     Erased, "?d?"},
    {"update", OpKind::kSave, Made, UpdateIt, SavedOrWritten},
    {"save", OpKind::kWrite, Held,
     [](World& w) { return WriteHeld(w, WriteKind::kCheckpoint, World::N(1)); }, Written},
    {"release", OpKind::kWrite, Held,
     [](World& w) { return WriteHeld(w, WriteKind::kRelease, World::N(1)); }, Written},
    {"discard", OpKind::kWrite, Held,
     [](World& w) { return ToldOf(Write(w.held.lease, WriteKind::kRelease, Body())); }, Unlocked},
    {"erase", OpKind::kWrite,
     [](World& w) {
       Held(w);
       w.seen = Read(w.engine(), *w.collection, w.key);
     },
     [](World& w) { return ToldOf(Write(w.held.lease, WriteKind::kErase, Body())); }, Erased},
    {"release with hand-over", OpKind::kWrite,
     [](World& w) {
       Held(w);
       AcquireAsync(w.engine(), w.Spec({.wait = 1h}),
                    [&w](AcquireResult result) { w.next = std::move(result); });
       w.clock->RunPending();
     },
     [](World& w) { return WriteHeld(w, WriteKind::kRelease, World::N(1)); }, Written},
    {"release of a share", OpKind::kWrite, Shared,
     [](World& w) { return ToldOf(Write(w.held.lease, WriteKind::kRelease, Body())); }, NoMatter},
    {"release by value", OpKind::kWrite, Detached, ReleaseCopy<false>, Written},
    {"release by value, any version", OpKind::kWrite, Detached, ReleaseCopy<true>, Written},
    {"detach", OpKind::kRenew, Held, [](World& w) { return ToldOf(Detach(w.held.lease)); },
     NoMatter},
    {"renew", OpKind::kRenew, Held, [](World& w) { return ToldOf(Renew(w.held.lease, 5s)); },
     NoMatter},
    {"renewals", OpKind::kRenew, Held,
     [](World& w) {
       w.clock->Advance(2s);
       return Told();
     },
     NoMatter},
};

// ---- The walk -------------------------------------------------------------------------------

struct Case {
  const Verb& verb;
  Fault::Kind fault;
  const Move& force;
  const Move& move;
  int moment;  ///< The move comes before so manieth call of the store after the loss.
};

std::string NameOf(const Case& c) {
  const char* const how = c.fault == Fault::Kind::kLostBefore  ? "request lost"
                          : c.fault == Fault::Kind::kLostAfter ? "reply lost"
                                                               : "request late";
  return std::string(c.verb.name) + ", " + how + "; before call " + std::to_string(c.moment) +
         ": " + c.force.name + c.move.name;
}

/// Makes the move at its moment.
void MoveIn(World& w, const Case& c) {
  w.store->Inject({.kind = c.fault, .op = c.verb.lost, .key = {}});
  // A search is no Execute, so the first call is behind it.
  const bool search = std::string_view(c.verb.name) == "lock next";
  w.store->OnExecute(
      [&w, &c, lost = search, left = c.moment](std::span<StoreOp* const> ops) mutable {
        if (lost && --left == 0) {
          Rival rival{w};
          c.force.make(rival);
          c.move.make(rival);
        }
        lost = lost || ops.front()->kind == c.verb.lost;
      });
}

/// Checks that nothing was written, except to lock or to release.
void ExpectNoBody(const World& w) {
  for (const Effect& effect : w.recorder->effects) {
    if (!effect.body) continue;
    EXPECT_NE(effect.body.json()["n"], 1) << "told not to be done";
  }
}

/// A lock of this engine in the store must belong to a handle or a waiter of this test.
void ExpectKnown(const World& w, bool detached) {
  const ReadOp look = w.Look();
  if (!look.result.locked) return;
  const auto grants = w.recorder->Of(OpKind::kAcquire);
  const bool ours = std::any_of(grants.begin(), grants.end(), [&](const Effect& grant) {
    return grant.id == look.result.lock_id;
  });
  if (!ours) return;
  const auto holds = [&](const LeasePtr& lease) {
    return lease && lease->lock_id == look.result.lock_id &&
           (LeaseHeld(*lease) || detached || lease->phase() == Phase::kInDoubt);
  };
  EXPECT_TRUE(holds(w.held.lease) || (w.next && holds(w.next->grant.lease))) << "an orphaned lock";
}

void Play(const Case& c) {
  World w;
  c.verb.prepare(w);
  if (::testing::Test::HasFatalFailure()) return;
  // A write may be by a lock that was taken before; all else is about what comes now.
  if (c.verb.lost == OpKind::kSave || c.verb.lost == OpKind::kAcquire) w.recorder->effects.clear();
  MoveIn(w, c);
  const Told told = c.verb.act(w);
  w.clock->RunPending();
  if (&c.force == kForces && &c.move == kMoves) {
    const char expected = c.verb.alone[c.fault == Fault::Kind::kLostBefore  ? 0
                                       : c.fault == Fault::Kind::kLostAfter ? 1
                                                                            : 2];
    const std::optional<Errc> code =
        told.failure ? std::optional(told.failure->code) : std::nullopt;
    EXPECT_EQ(code, expected == 'd' ? std::nullopt : std::optional(Errc::kInDoubt));
  }
  if (!told.failure) {
    c.verb.done(w, told);
  } else if (told.failure->code != Errc::kInDoubt) {
    ExpectNoBody(w);
  }
  const bool detached = w.held.lease && w.held.lease->phase() == Phase::kDetached;
  // A request that arrives late may lock, for as long as the background needs to notice.
  w.store->ReleaseLate();
  w.store->OnExecute({});
  w.clock->Advance(1s);
  // A search without an answer does not know its document: that lock ends with its lease.
  const bool unknown =
      std::string_view(c.verb.name) == "lock next" && c.fault == Fault::Kind::kLate;
  if (!unknown) ExpectKnown(w, detached);
  // No handle counts as held while another client has the lock.
  w.clock->Advance(10s);
  if (w.held.lease && LeaseHeld(*w.held.lease) && w.held.lease->mode == LockMode::kExclusive) {
    EXPECT_EQ(w.Look().result.lock_id, LeaseLockId(*w.held.lease));
  }
  if (w.next && !w.next->failure && LeaseHeld(*w.next->grant.lease)) {
    EXPECT_EQ(w.Look().result.lock_id, LeaseLockId(*w.next->grant.lease));
  }
  EXPECT_TRUE(std::string_view(c.verb.name) != "release with hand-over" || w.next)
      << "the waiter was told nothing";
}

class DoubtRaceTest : public ::testing::TestWithParam<std::size_t> {};

TEST_P(DoubtRaceTest, WhatIsToldIsWhatHappened) {
  const Verb& verb = kVerbs[GetParam()];
  for (const auto fault : {Fault::Kind::kLostBefore, Fault::Kind::kLostAfter, Fault::Kind::kLate}) {
    for (const Move& force : kForces) {
      for (const Move& move : kMoves) {
        for (const int moment : {1, 2, 3}) {
          const Case c{verb, fault, force, move, moment};
          SCOPED_TRACE(NameOf(c));
          Play(c);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Verbs, DoubtRaceTest, ::testing::Range<std::size_t>(0, std::size(kVerbs)));

}  // namespace
}  // namespace doclock::detail
