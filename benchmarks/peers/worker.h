#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

/// @file
/// What the workers of this folder share. A worker is a program that plays one scenario against one
/// way of locking; run.py starts workers, tells them when to begin, and judges what they print.
///
///     worker KIND URL PAGE SCENARIO FIRST CALLERS SECONDS TTL_MS
///
/// | scenario | what the worker does |
/// |---|---|
/// | `prepare` | makes tables and documents |
/// | `own` | each caller locks and unlocks a document of its own |
/// | `hot` | all callers lock and unlock document 0; a first quarter is not measured |
/// | `turns` | one caller of each of two processes takes document 0 in turn |
/// | `leases` | takes 1,000 locks, keeps them for SECONDS, and unlocks them |
/// | `hold` | each caller takes its document, and keeps it until the process is killed |
/// | `take` | each caller waits for its document, and says when it was granted |
///
/// FIRST is the document of the first caller. PAGE is a file that all workers of a round map: it
/// has a counter for each document. A holder reads it, works, and writes it back one higher, and
/// nothing but the lock makes that safe. So a counter that is lower than the cycles that were
/// counted shows that two callers held a lock at the same time.
///
/// A worker prints JSON, a line each: {"ready": true}, then waits for a line on its standard input,
/// and later prints what it measured.

namespace doclock::peers {

using std::chrono::milliseconds;

/// One thread's way to the locks.
class Caller {
 public:
  virtual ~Caller() = default;
  /// Takes the lock of a document; reads the document, if the peer has documents. Waits as the peer
  /// waits. Returns false if `stop` ended the wait.
  virtual bool Lock(int key, const std::stop_token& stop) = 0;
  /// Stores the document, if the peer has documents, and unlocks. Returns false if the lock was
  /// lost.
  virtual bool Unlock(int key) = 0;
  /// Renews a lease. Returns false if the lock was lost. The workers call it at a third of the
  /// lease for peers that neither renew by themselves nor have locks without leases.
  virtual bool Renew(int /*key*/) { return true; }
};

/// A way of locking.
class Peer {
 public:
  virtual ~Peer() = default;
  /// Makes tables, and the documents 0 to `keys` - 1.
  virtual void Prepare(int /*keys*/) {}
  /// Thread-safe.
  virtual std::unique_ptr<Caller> NewCaller() = 0;
};

/// What a peer is opened with.
struct Place {
  std::string kind;  ///< The way of locking, where a worker knows several.
  std::string url;   ///< The store.
  milliseconds ttl;  ///< The length of a lease.
};

/// The documents that `prepare` makes, and the locks that `leases` takes.
constexpr int kKeys = 1024;
constexpr int kLeases = 1000;

/// Plays what the command line says. A failure ends the process with status 1 and a message.
int Work(int argc, char** argv, const std::function<std::unique_ptr<Peer>(const Place&)>& open);

/// Sleeps for a random time between two; returns false as soon as `stop` is set.
bool Pause(const std::stop_token& stop, milliseconds least, milliseconds most);
/// Calls `attempt` until it returns true, with pauses; returns false as soon as `stop` is set.
bool Poll(const std::stop_token& stop, milliseconds least, milliseconds most,
          const std::function<bool()>& attempt);
/// How long a caller by hand sleeps between two attempts on a server.
constexpr milliseconds kPollLeast{50};
constexpr milliseconds kPollMost{150};

/// A random id, as a lock has it: 32 hexadecimal digits.
std::string NewId();
/// Milliseconds since 1970, by this machine's clock.
std::int64_t UnixMilliseconds();
/// A text of 1 KB that differs each time and keeps its size.
std::string Text();

}  // namespace doclock::peers
