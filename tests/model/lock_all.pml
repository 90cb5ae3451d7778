/* LockAll (src/facade/lock_all.cpp): clients that want several locks. scripts/model.sh checks it.
 *
 * Each client wants some of the locks. It takes them in one order, and waits for each in its queue. While it waits, a
 * timer may give back what it holds, at any moment and on a thread of its own. The wait goes on. Once it has that lock, it
 * takes those before it only if they are free at once; otherwise it gives all back and starts over.
 *
 * Leases, replies that are lost, and failovers are no part of it: see document_lock.pml.
 *
 * What is checked
 * - HELD: who is told that it holds all its locks holds each of them, and nobody is about to give one back.
 * - No deadlock: there is no end in which somebody waits.
 *
 * A client keeps what it holds (kForever, or min_hold), or its timer gives it back in the first round. The next round is
 * taken to last longer than all others, so that it keeps all there, and every run has an end.
 *
 * With DEAD_HOLDER all timers give back, in any round. The last lock is kept until client 0, which wants only the first
 * one, has had that.
 *
 * Each macro WITHOUT_... takes one rule out; the check has to fail then.
 */

#define CLIENTS 3
#define LOCKS 3

#define NOBODY CLIENTS
#define DEAD (CLIENTS + 1)
#define NONE LOCKS
#define BIT(lock) (1 << (lock))

byte holder[LOCKS] = NOBODY;
chan queue[LOCKS] = [CLIENTS] of { byte };

byte taken[CLIENTS];   /* the locks that its call has taken so far */
byte leaving[CLIENTS]; /* those that its timer is giving back */
bit waits[CLIENTS];    /* for a lock, and the timer may give the others back */
bit granted[CLIENTS];  /* the lock that it waited for */
bit served;            /* client 0 has had its locks */
#ifdef WITHOUT_WAIT_IN_TIMER
bit started[CLIENTS]; /* a timer that is cancelled may run already */
#else
#define started waits
#endif

/* --- The rules --- */

#ifdef WITHOUT_ORDER
#define LOCK(i) (me % 2 -> LOCKS - 1 - (i) : (i))
#else
#define LOCK(i) (i)
#endif

#ifdef WITHOUT_GIVING_BACK
#define GIVES_BACK 0
#else
#ifdef DEAD_HOLDER
#define GIVES_BACK (next > 0)
#else
#define GIVES_BACK (next > 0 && timed)
#endif
#endif

/* What comes before a lock that is held already is not waited for. */
#ifdef WITHOUT_ONE_ATTEMPT
#define ONE_ATTEMPT 0
#else
#define ONE_ATTEMPT (ahead != NONE)
#endif

/* The timer looks whether the wait goes on, */
#ifdef WITHOUT_WAIT_IN_TIMER
#define MAY_GIVE_BACK(me) started[me]
#else
#define MAY_GIVE_BACK(me) waits[me]
#endif

/* and the client whether the timer was quicker. */
#ifdef WITHOUT_LOOK_AT_TIMER
#define ALONE 0
#else
#define ALONE (timing && !waits[me])
#endif

/* --- The locks --- */

hidden byte first;
hidden byte holds_all;

inline Free(lock) {
  if
  :: nempty(queue[lock]) -> queue[lock] ? first; holder[lock] = first; granted[first] = 1
  :: empty(queue[lock]) -> holder[lock] = NOBODY
  fi
}

/* One after the other, the last one first. */
inline GiveBack(locks) {
  do
  :: atomic { locks & BIT(2) -> locks = locks & ~BIT(2); Free(2) }
  :: atomic { (locks & BIT(1)) && !(locks & BIT(2)) -> locks = locks & ~BIT(1); Free(1) }
  :: atomic { locks == BIT(0) -> locks = 0; Free(0) }
  :: !locks -> break
  od
}

/* --- A client's timer --- */

proctype Timer(byte me) {
end:
  do
  :: atomic { MAY_GIVE_BACK(me) ->
       started[me] = 0;
       waits[me] = 0;
       leaving[me] = taken[me];
       taken[me] = 0
     }
     GiveBack(leaving[me])
  od
}

/* --- A client --- */

inline Took() {
  taken[me] = taken[me] | BIT(LOCK(next))
}

#define SELECT_SOME \
  if \
  :: wants = BIT(0) | BIT(1) \
  :: wants = BIT(0) | BIT(2) \
  :: wants = BIT(1) | BIT(2) \
  :: wants = BIT(0) | BIT(1) | BIT(2) \
  fi

#define IS_HELD(lock) (!(wants & BIT(lock)) || holder[lock] == me)

proctype Client(byte me) {
  byte wants, next;
  byte ahead = NONE; /* the one that it holds although some before it are missing */
  bit timed;  /* its timer gives back in this round */
  bit timing; /* and in this wait */
  atomic {
#ifdef DEAD_HOLDER
    if
    :: me == 0 -> wants = BIT(0)
    :: me > 0 -> SELECT_SOME
    fi
#else
    SELECT_SOME;
    if
    :: timed = 1
    :: timed = 0
    fi
#endif
  }

take:
  atomic {
    do
    :: next == LOCKS -> goto all_held
    :: next < LOCKS && next == ahead -> ahead = NONE; next++
    :: next < LOCKS && next != ahead && !(wants & BIT(LOCK(next))) -> next++
    :: next < LOCKS && next != ahead && (wants & BIT(LOCK(next))) -> break
    od;
    if
    :: holder[LOCK(next)] == NOBODY -> holder[LOCK(next)] = me; Took(); next++; goto took
    :: holder[LOCK(next)] != NOBODY && ONE_ATTEMPT -> goto start_over
    :: holder[LOCK(next)] != NOBODY && !ONE_ATTEMPT ->
       queue[LOCK(next)] ! me;
       timing = GIVES_BACK;
       waits[me] = timing;
       started[me] = timing
    fi
  }
  atomic { granted[me] ->
    granted[me] = 0;
    Took();
    if
    :: ALONE -> ahead = next; next = 0
    :: else -> next++
    fi;
    waits[me] = 0;
    timing = 0
  }
took:
  goto take;

start_over:
  GiveBack(taken[me]);
  next = 0;
  ahead = NONE;
  timed = 0;
  goto take;

all_held:
  atomic {
    holds_all = IS_HELD(0) && IS_HELD(1) && IS_HELD(2) && !(wants & leaving[me]);
    assert(holds_all) /* HELD */
  }
  GiveBack(taken[me]);
  served = served || me == 0
}

init {
  atomic {
#ifdef DEAD_HOLDER
    holder[LOCKS - 1] = DEAD;
#endif
    run Client(0);
    run Client(1);
    run Client(2);
    run Timer(0);
    run Timer(1);
    run Timer(2)
  }
#ifdef DEAD_HOLDER
  atomic { served -> Free(LOCKS - 1) }
#endif
}
