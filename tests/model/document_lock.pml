/* The lock of one document on MongoDB: two clients, a primary and its majority. scripts/model.sh checks it.
 *
 * What may happen
 * - A request is executed late. A request whose reply did not come is executed again, at any later time; but not an acquire, which
 *   is sent once under each id, and without retryable writes.
 * - A request is lost, or its reply is.
 * - A write waits for a majority. A failover before that undoes it, or keeps it.
 * - A primary that was deposed answers "nothing matched" to a request that would change something.
 * - The clocks of the primaries differ by SKEW ticks. A client's clock misses up to DRIFT ticks during a lease.
 *   With CLOCKS_STOP the clients' clocks do not advance at all: no client notices that its lease is over.
 * - A client stops at any point, and goes on at any time.
 *
 * What is checked
 * - HOLDERS: no client gets the lock while another one holds it, and no optimistic write goes through then.
 *            With CLOCKS_STOP this is not promised.
 * - UPDATE:  a write replaces the body that its writer saw, and no other.
 * - DONE:    what a client takes for done is in the history of the majority.
 * - REFUSED: what a client takes for not done is not in that history, and never gets into it.
 *
 * With OPTIMISTIC, client 1 writes without a lock.
 *
 * Each macro WITHOUT_... takes one guard out of the protocol; the check has to fail then.
 */

/* How often each client tries to get the lock. */
#ifndef ATTEMPTS_0
#define ATTEMPTS_0 1
#endif
#ifndef ATTEMPTS_1
#define ATTEMPTS_1 1
#endif
#define IDS (ATTEMPTS_0 + ATTEMPTS_1 + 1)

#ifndef SKEW
#define SKEW 0
#endif
#ifndef DRIFT
#define DRIFT 0
#endif
#define TTL (1 + SKEW + DRIFT) /* in ticks of the primary's clock: a holder has less than one tick */

#ifdef WITHOUT_MARGIN
#define DEADLINE TTL
#else
#define DEADLINE (TTL - SKEW - DRIFT)
#endif

/* --- The document --- */

typedef Document {
  byte lock;         /* the id of the grant, which is the number of the attempt; 0: free */
  byte age = TTL + 2; /* of the lease, by the primary's clock, plus one: it may be -1 after a failover */
  byte version;
  byte body;         /* the write that made it */
  byte released;     /* the mark of the last release */
  short history;     /* a bit for each write that made it. No part of the protocol. */
};
Document primary, majority;
bit ahead; /* Is the clock of this primary the later one? */

#define IS_OVER (primary.age > TTL)
#define IS_FREE (primary.lock == 0)

/* The writes: two for each attempt. */
#define CHECKPOINT(id) (2 * (id))
#define RELEASE(id) (2 * (id) + 1)
#define BIT(write) (1 << ((write) - 2))

/* --- The attempts --- */

byte expired[IDS]; /* the lock that it takes over; 0: it saw a free document */
byte version[IDS]; /* the version and the body that its client saw when it was granted */
byte body[IDS];
bit checkpointed[IDS];

/* --- The network. A stray is a request that its client waits for no more. --- */

mtype = { kAcquire, kRenew, kCheckpoint, kRelease, kSave, kLook, kNothing };
mtype = { kIdle, kSent, kExecuted, kAnswered };
mtype = { kMatched, kNotMatched, kUnmoved, kUnclear };

mtype request[2] = kNothing; /* what each client waits for */
mtype about[2] = kNothing;   /* what its look is about */
mtype progress[2] = kIdle;
mtype answer[2] = kUnclear;
byte attempt[2];

bit stray_acquire[IDS], stray_renew[IDS], stray_checkpoint[IDS], stray_release[IDS], stray_save[IDS];
bit stray_give_back[IDS]; /* a release of any version, without a body */

/* --- The clients' clocks: ticks since a request was sent, up to DEADLINE --- */

bit holder[2];               /* from the grant until a release is sent, or the lock is known to be lost */
byte since_lease[2] = DEADLINE; /* the request that the deadline counts from */
byte since_sent[2] = DEADLINE;  /* the first request of the operation under way */
bit slow_lease[2], slow_sent[2]; /* Did the clock miss a tick since? */

#define IN_TIME(i) (since_lease[i] < DEADLINE)
#define HOLDS(i) (holder[i] && IN_TIME(i))

#ifdef CLOCKS_STOP
#define CHECK_HOLDERS(none_other) skip
#else
#define CHECK_HOLDERS(none_other) assert(none_other)
#endif

short refused; /* the writes that a client takes for not done */

/* --- The guards --- */

#ifdef WITHOUT_FREE_IN_ACQUIRE
#define MAY_ACQUIRE(id) (expired[id] == 0 || (primary.lock == expired[id] && IS_OVER))
#else
#ifdef WITHOUT_EXPIRY /* the look before it saw that the lease was over */
#define MAY_ACQUIRE(id) (IS_FREE || (expired[id] != 0 && primary.lock == expired[id]))
#else
#define MAY_ACQUIRE(id) (primary.lock == expired[id] && (IS_FREE || IS_OVER))
#endif
#endif

/* Either check of the expiry would keep the promises alone: this one also keeps a late renewal from shutting out the others. */
#ifdef WITHOUT_EXPIRY
#define MAY_RENEW(id) (primary.lock == id)
#else
#define MAY_RENEW(id) (primary.lock == id && !IS_OVER)
#endif

#ifdef WITHOUT_VERSION_IN_WRITE
#define MAY_WRITE(id, expected) (primary.lock == id)
#else
#define MAY_WRITE(id, expected) (primary.lock == id && primary.version == (expected))
#endif

#define MAY_GIVE_BACK(id) (primary.lock == id)

#ifdef WITHOUT_LOCK_IN_SAVE
#define MAY_SAVE(id) (primary.version == version[id])
#else
#ifdef WITHOUT_VERSION_IN_SAVE
#define MAY_SAVE(id) (IS_FREE || (primary.lock == expired[id] && IS_OVER))
#else
#define MAY_SAVE(id) (primary.version == version[id] && (IS_FREE || (primary.lock == expired[id] && IS_OVER)))
#endif
#endif

#ifdef WITHOUT_MAJORITY_FOR_WRITES
#define WRITTEN kAnswered
#else
#define WRITTEN kExecuted /* and answered once a majority has it */
#endif

#ifdef WITHOUT_LINEARIZABLE_LOOK
#define LOOKED kAnswered
#else
#define LOOKED kExecuted
#endif

#ifdef WITHOUT_MARK_AS_PROOF
#define SHOWS_RELEASE(id) (primary.version > version[id] + checkpointed[id])
#else
#define SHOWS_RELEASE(id) (primary.released == id)
#endif

#ifdef WITHOUT_DEADLINE_FROM_SEND
#define SINCE_REQUEST(i) 0
#define SLOW_REQUEST(i) 0
#else
#define SINCE_REQUEST(i) since_sent[i]
#define SLOW_REQUEST(i) slow_sent[i]
#endif

#ifdef WITHOUT_FRESH_IDS
#define NEW_ID(i, n) (1 + (i) * ATTEMPTS_0)
#else
#define NEW_ID(i, n) (1 + (i) * ATTEMPTS_0 + (n))
#endif

/* --- The clients. Each step is atomic; anything may happen between two steps. --- */

inline Send(what) {
  request[me] = what;
  progress[me] = kSent;
  attempt[me] = id
}

inline StartTimer() {
  since_sent[me] = 0;
  slow_sent[me] = 0
}

inline TakeAnswer() {
  request[me] = kNothing;
  about[me] = kNothing;
  progress[me] = kIdle;
  answer[me] = kUnclear;
  attempt[me] = 0
}

inline Extend() {
  since_lease[me] = SINCE_REQUEST(me);
  slow_lease[me] = SLOW_REQUEST(me)
}

inline EndOperation() {
  since_sent[me] = DEADLINE;
  slow_sent[me] = 0;
  doubted = 0
}

inline EndHandle() {
  EndOperation();
  holder[me] = 0;
  since_lease[me] = DEADLINE;
  slow_lease[me] = 0;
  written = 0;
  id = 0
}

inline TakeForDone(write) {
  assert(majority.history & BIT(write)) /* DONE */
}

inline TakeForNotDone(write) {
  assert(!(majority.history & BIT(write))); /* REFUSED */
  refused = refused | BIT(write)
}

#define IS_ANSWERED(result) (progress[me] == kAnswered && answer[me] == result)
#define NO_ANSWER (progress[me] == kSent || progress[me] == kExecuted)
#define IS_RELEASE (written == RELEASE(id))
#define LOOK_NEEDED (doubted && AFTER_DOUBT)

#ifdef WITHOUT_LOOK_AFTER_DOUBT
#define AFTER_DOUBT 0
#else
#define AFTER_DOUBT 1
#endif

/* A holder: AcquireProcedure, the renewals of Keeper, HolderWrite. */
proctype Holder(byte me; byte attempts) {
  byte id, tried;
  bit doubted;
  byte written; /* the write under way */
end:
  atomic { /* the look that comes before a takeover, then the request */
    tried < attempts && (IS_FREE || IS_OVER);
    id = NEW_ID(me, tried);
    tried++;
    expired[id] = primary.lock;
    StartTimer();
    Send(kAcquire)
  }
  if
  :: atomic { IS_ANSWERED(kMatched); TakeAnswer(); goto granted }
  :: atomic { IS_ANSWERED(kNotMatched); TakeAnswer(); EndHandle(); goto end }
  :: atomic { NO_ANSWER;
       if
       :: progress[me] == kSent -> stray_acquire[id] = 1
       :: else
       fi;
       TakeAnswer();
       goto confirm
     }
  fi;

confirm:
#ifndef WITHOUT_CONFIRMING_RENEWAL
  atomic { StartTimer(); Send(kRenew) }
  if
  :: atomic { IS_ANSWERED(kMatched); TakeAnswer(); goto read }
  :: atomic { IS_ANSWERED(kNotMatched); TakeAnswer(); goto give_back }
  :: atomic { NO_ANSWER; TakeAnswer(); stray_renew[id] = 1; goto confirm }
  :: atomic { NO_ANSWER; TakeAnswer(); stray_renew[id] = 1; goto give_back }
  fi;
#else
  atomic { StartTimer(); goto read }
#endif
read:
  atomic { about[me] = kAcquire; Send(kLook) }
  if
  :: atomic { IS_ANSWERED(kMatched); TakeAnswer(); goto granted }
  :: atomic { IS_ANSWERED(kUnclear); TakeAnswer(); goto give_back }
  :: atomic { NO_ANSWER; TakeAnswer(); goto read }
  :: atomic { NO_ANSWER; TakeAnswer(); goto give_back }
  fi;

granted:
  atomic {
    Extend();
    EndOperation();
    if
    :: IN_TIME(me) ->
       CHECK_HOLDERS(!HOLDS(1 - me)); /* HOLDERS */
       holder[me] = 1
    :: else -> goto give_back
    fi
  }

held:
  if
  :: atomic { IN_TIME(me); StartTimer(); Send(kRenew); goto renewing }
  :: atomic { IN_TIME(me) && !checkpointed[id]; written = CHECKPOINT(id); StartTimer(); goto send }
  :: atomic { IN_TIME(me); written = RELEASE(id); holder[me] = 0; StartTimer(); goto send }
  :: atomic { true; goto give_back } /* discarded, or lost at the deadline */
  fi;

renewing:
  if
  :: atomic { IS_ANSWERED(kMatched); TakeAnswer();
       if
       :: IN_TIME(me) -> Extend(); EndOperation(); goto held
       :: else -> goto give_back
       fi
     }
  :: atomic { IS_ANSWERED(kNotMatched); TakeAnswer(); EndHandle(); goto end }
  :: atomic { NO_ANSWER; TakeAnswer(); EndOperation(); stray_renew[id] = 1; goto held }
  fi;

send:
  atomic {
    if
    :: !IN_TIME(me) && doubted -> EndHandle(); goto end /* in doubt */
    :: !IN_TIME(me) && !doubted -> TakeForNotDone(written); EndHandle(); goto end
    :: IN_TIME(me) && IS_RELEASE -> Send(kRelease)
    :: IN_TIME(me) && !IS_RELEASE -> Send(kCheckpoint)
    fi
  }
  if
  :: atomic { IS_ANSWERED(kMatched); TakeAnswer(); goto done }
  :: atomic { IS_ANSWERED(kNotMatched) && !LOOK_NEEDED; TakeAnswer();
       TakeForNotDone(written);
       EndHandle();
       goto end
     }
  :: atomic { IS_ANSWERED(kNotMatched) && LOOK_NEEDED; TakeAnswer(); goto look }
  :: atomic { NO_ANSWER; TakeAnswer(); doubted = 1;
       if
       :: IS_RELEASE -> stray_release[id] = 1
       :: else -> stray_checkpoint[id] = 1
       fi;
       goto look
     }
  fi;
look:
  atomic {
    if
    :: IS_RELEASE -> about[me] = kRelease
    :: else -> about[me] = kCheckpoint
    fi;
    Send(kLook)
  }
  if
  :: atomic { IS_ANSWERED(kMatched); TakeAnswer(); goto done }
  :: atomic { IS_ANSWERED(kUnmoved); TakeAnswer(); goto send }
  :: atomic { IS_ANSWERED(kUnclear); TakeAnswer(); EndHandle(); goto end } /* in doubt */
  :: atomic { NO_ANSWER; TakeAnswer(); goto look }
  :: atomic { NO_ANSWER; TakeAnswer(); EndHandle(); goto end } /* in doubt */
  fi;

done:
  atomic {
    if
    :: IS_RELEASE -> TakeForDone(written); EndHandle(); goto end
    :: else ->
       TakeForDone(written);
       checkpointed[id] = 1;
       if
       :: IN_TIME(me) -> Extend(); EndOperation(); goto held
       :: else -> goto give_back
       fi
    fi
  }

give_back: /* in the background */
  atomic { stray_give_back[id] = 1; EndHandle(); goto end }
}

/* A writer without a lock: SavePart. */
proctype Writer(byte me; byte attempts) {
  byte id, tried;
  byte written;
  bit doubted;
end:
  atomic { /* a snapshot, and a look at the lock */
    tried < attempts;
    id = NEW_ID(me, tried);
    tried++;
    written = RELEASE(id);
    version[id] = majority.version;
    body[id] = majority.body;
    if
    :: IS_OVER -> expired[id] = primary.lock
    :: else
    fi
  }
send:
  atomic { Send(kSave) }
  if
  :: atomic { IS_ANSWERED(kMatched); TakeAnswer(); goto done }
  :: atomic { IS_ANSWERED(kNotMatched) && !LOOK_NEEDED; TakeAnswer(); TakeForNotDone(written); EndHandle(); goto end }
  :: atomic { IS_ANSWERED(kNotMatched) && LOOK_NEEDED; TakeAnswer(); goto look }
  :: atomic { NO_ANSWER; TakeAnswer(); doubted = 1; stray_save[id] = 1; goto look }
  fi;
look:
  atomic { about[me] = kSave; Send(kLook) }
  if
  :: atomic { IS_ANSWERED(kMatched); TakeAnswer(); goto done }
  :: atomic { IS_ANSWERED(kUnmoved); TakeAnswer(); goto send }
  :: atomic { IS_ANSWERED(kUnclear); TakeAnswer(); EndHandle(); goto end } /* in doubt */
  :: atomic { NO_ANSWER; TakeAnswer(); goto look }
  :: atomic { NO_ANSWER; TakeAnswer(); EndHandle(); goto end } /* in doubt */
  fi;
done:
  atomic { TakeForDone(written); EndHandle(); goto end }
}

/* --- The server --- */

hidden byte matched;

inline ReplaceBody(write, base) {
  assert(primary.body == base); /* UPDATE */
  primary.body = write;
  primary.version++;
  primary.history = primary.history | BIT(write)
}

inline Clear(mark) {
  primary.lock = 0;
  primary.age = TTL + 2;
  primary.released = mark
}

inline Acquire(id) {
  matched = MAY_ACQUIRE(id);
  if
  :: matched -> primary.lock = id; primary.age = 1; primary.version++
  :: else
  fi
}

inline Renew(id) {
  matched = MAY_RENEW(id);
  if
  :: matched -> primary.age = 1
  :: else
  fi
}

inline Checkpoint(id) {
  matched = MAY_WRITE(id, version[id]);
  if
  :: matched -> ReplaceBody(CHECKPOINT(id), body[id]); primary.age = 1
  :: else
  fi
}

inline Release(id) {
  matched = MAY_WRITE(id, version[id] + checkpointed[id]);
  if
  :: matched && checkpointed[id] -> ReplaceBody(RELEASE(id), CHECKPOINT(id)); Clear(id)
  :: matched && !checkpointed[id] -> ReplaceBody(RELEASE(id), body[id]); Clear(id)
  :: else
  fi
}

inline Save(id) {
  matched = MAY_SAVE(id);
  if
  :: matched ->
     CHECK_HOLDERS(!HOLDS(0)); /* HOLDERS */
     ReplaceBody(RELEASE(id), body[id]);
     Clear(id)
  :: else
  fi
}

inline Answer(client, state) {
  if
  :: matched -> answer[client] = kMatched
  :: else -> answer[client] = kNotMatched
  fi;
  progress[client] = state
}

inline Look(client, id) {
  if
  :: about[client] == kAcquire && primary.lock == id ->
     version[id] = primary.version;
     body[id] = primary.body;
     answer[client] = kMatched
  :: about[client] == kCheckpoint && primary.lock == id && primary.version > version[id] -> answer[client] = kMatched
  :: about[client] == kCheckpoint && primary.lock == id && primary.version == version[id] -> answer[client] = kUnmoved
  :: about[client] == kRelease && SHOWS_RELEASE(id) -> answer[client] = kMatched
  :: about[client] == kRelease && !SHOWS_RELEASE(id) && primary.lock == id &&
       primary.version == version[id] + checkpointed[id] -> answer[client] = kUnmoved
  :: about[client] == kSave && primary.released == id -> answer[client] = kMatched
  :: about[client] == kSave && primary.released != id && primary.version == version[id] -> answer[client] = kUnmoved
  :: else -> answer[client] = kUnclear
  fi;
  progress[client] = LOOKED
}

#define SENT(client, what) (progress[client] == kSent && request[client] == what)

inline ExecuteOf(client) {
  if
  :: request[client] == kAcquire ->
     Acquire(attempt[client]);
     if
     :: matched -> version[attempt[client]] = primary.version; body[attempt[client]] = primary.body
     :: else
     fi;
     Answer(client, WRITTEN)
  :: request[client] == kRenew -> Renew(attempt[client]); Answer(client, WRITTEN)
  :: request[client] == kCheckpoint -> Checkpoint(attempt[client]); Answer(client, WRITTEN)
  :: request[client] == kRelease -> Release(attempt[client]); Answer(client, WRITTEN)
  :: request[client] == kSave -> Save(attempt[client]); Answer(client, WRITTEN)
  :: request[client] == kLook -> Look(client, attempt[client])
  fi
}

inline Copy(to, from) {
  to.lock = from.lock;
  to.age = from.age;
  to.version = from.version;
  to.body = from.body;
  to.released = from.released;
  to.history = from.history
}

/* A majority has what the primary has. */
inline Acknowledge() {
  Copy(majority, primary);
  assert(!(majority.history & refused)); /* REFUSED */
  if
  :: progress[0] == kExecuted -> progress[0] = kAnswered
  :: else
  fi;
  if
  :: progress[1] == kExecuted -> progress[1] = kAnswered
  :: else
  fi
}

/* What no majority had is gone, and the connections with it: who sent it hears nothing, or sends it again. */
inline RollBack() {
  Copy(primary, majority);
  if
  :: progress[0] == kExecuted -> progress[0] = kSent; answer[0] = kUnclear
  :: else
  fi;
  if
  :: progress[1] == kExecuted -> progress[1] = kSent; answer[1] = kUnclear
  :: else
  fi
}

inline Shift(document) {
  if
  :: document.age > TTL + 1
  :: ahead && document.age <= TTL + 1 -> document.age--
  :: !ahead && document.age <= TTL + 1 -> document.age++
  fi
}

/* Another member is the primary: its clock differs. */
inline ChangeClock() {
  Shift(primary);
  Shift(majority);
  ahead = 1 - ahead
}

#define HAS_CHANGED (primary.version != majority.version || primary.age != majority.age)

/* An acquire is executed once. The others do no more than before if they are repeated. */
#define STRAYS_OF(id) \
  :: d_step { stray_acquire[id] && MAY_ACQUIRE(id); Acquire(id); stray_acquire[id] = 0; Forget() } \
  :: d_step { stray_renew[id] && MAY_RENEW(id); Renew(id) } \
  :: d_step { stray_checkpoint[id] && MAY_WRITE(id, version[id]); Checkpoint(id) } \
  :: d_step { stray_release[id] && MAY_WRITE(id, version[id] + checkpointed[id]); Release(id); Forget() } \
  :: d_step { stray_save[id] && MAY_SAVE(id); Save(id); Forget() } \
  :: d_step { stray_give_back[id] && MAY_GIVE_BACK(id); Clear(0); primary.version++; Forget() }

/* Strays that cannot match any more are left out, so that there are fewer states. */
#define MAY_GET_LOCK(id) (primary.lock == id || majority.lock == id || stray_acquire[id] || \
                          (request[0] == kAcquire && attempt[0] == id) || (request[1] == kAcquire && attempt[1] == id))

inline ForgetOf(id) {
  if
  :: !MAY_GET_LOCK(id) ->
     stray_renew[id] = 0;
     stray_checkpoint[id] = 0;
     stray_release[id] = 0;
     stray_give_back[id] = 0
  :: else
  fi
}

inline Forget() {
  ForgetOf(1);
  ForgetOf(2);
#if IDS > 3
  ForgetOf(3);
#endif
#if IDS > 4
  ForgetOf(4);
#endif
  skip
}

proctype Server() {
end:
  do
  :: d_step { progress[0] == kSent; ExecuteOf(0); Forget() }
  :: d_step { progress[1] == kSent; ExecuteOf(1); Forget() }
  STRAYS_OF(1)
  STRAYS_OF(2)
#if IDS > 3
  STRAYS_OF(3)
#endif
#if IDS > 4
  STRAYS_OF(4)
#endif
  :: d_step { HAS_CHANGED || progress[0] == kExecuted || progress[1] == kExecuted; Acknowledge(); Forget() }
  :: d_step { HAS_CHANGED; RollBack(); Forget() }
#if SKEW
  :: d_step { !HAS_CHANGED; ChangeClock() }
#endif
  /* A deposed primary does not know the lock. */
  :: d_step { progress[0] == kSent && request[0] != kLook; answer[0] = kNotMatched; progress[0] = kAnswered }
  :: d_step { progress[1] == kSent && request[1] != kLook; answer[1] = kNotMatched; progress[1] = kAnswered }
  od
}

/* --- Time --- */

inline Age(document) {
  if
  :: document.age < TTL + 2 -> document.age++
  :: else
  fi
}

#define RUNS(i) (since_lease[i] < DEADLINE || since_sent[i] < DEADLINE)
#define MAY_MISS(i) (RUNS(i) && (since_lease[i] == DEADLINE || !slow_lease[i]) && (since_sent[i] == DEADLINE || !slow_sent[i]))

inline Advance(i) {
  if
  :: since_lease[i] < DEADLINE -> since_lease[i]++
  :: else
  fi;
  if
  :: since_sent[i] < DEADLINE -> since_sent[i]++
  :: else
  fi
}

inline Miss(i) {
  slow_lease[i] = (since_lease[i] < DEADLINE);
  slow_sent[i] = (since_sent[i] < DEADLINE)
}

#define TIME_MATTERS (primary.age < TTL + 2 || majority.age < TTL + 2 || RUNS(0) || RUNS(1))

proctype Time() {
end:
  do
#ifdef CLOCKS_STOP
  :: d_step { primary.age < TTL + 2 || majority.age < TTL + 2; Age(primary); Age(majority) }
#else
  :: d_step { TIME_MATTERS; Age(primary); Age(majority); Advance(0); Advance(1) }
#if DRIFT
  :: d_step { MAY_MISS(0); Age(primary); Age(majority); Miss(0); Advance(1) }
  :: d_step { MAY_MISS(1); Age(primary); Age(majority); Advance(0); Miss(1) }
  :: d_step { MAY_MISS(0) && MAY_MISS(1); Age(primary); Age(majority); Miss(0); Miss(1) }
#endif
#endif
  od
}

init {
  atomic {
    run Holder(0, ATTEMPTS_0);
#ifdef OPTIMISTIC
    run Writer(1, ATTEMPTS_1);
#else
    run Holder(1, ATTEMPTS_1);
#endif
    run Server();
    run Time()
  }
}
