#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "doclock/options.h"
#include "simulation/database/watcher.h"
#include "simulation/invariants/queues.h"
#include "simulation/invariants/store_queues.h"
#include "simulation/machine/process.h"
#include "simulation/play/story.h"

namespace doclock::simulation {

/// What has to be true, and is not.
struct Violation {
  std::string rule;  ///< One of a few, to compare runs by.
  std::string what;
};

/// A client that believes to hold a lock.
struct Claim {
  std::string lock;  ///< "entries/a"
  LockMode mode = LockMode::kExclusive;
  int limit = 1;  ///< Of shares.
  std::int64_t fence = 0;
  Time asked{};
  Process* process = nullptr;
  int program = 0;
  std::function<bool()> held;
  std::string group = {};
};

/// What a client was told of its write.
enum class Fate : std::uint8_t {
  kUnknown,  ///< Nothing, or that it is in doubt.
  kDone,
  kRefused,
};

/// What the library promises, checked from outside: by what clients are told, and by what is in the
/// database. It knows nothing of leases, ids or rules.
class Invariants : public DatabaseWatcher {
 public:
  Invariants(World& world, Story& story) : world_(world), story_(story) {}

  void Break(const std::string& rule, const std::string& what);
  [[nodiscard]] const std::optional<Violation>& violation() const noexcept { return violation_; }

  // Completions: each token exactly once.
  int BeginToken(int program, std::string what);
  void CompleteToken(int token);
  /// The call threw: no completion follows.
  void ForgetToken(int token) { tokens_.erase(token); }

  // Holders: one at a time, or as many as the limit, as far as clocks can be trusted; fences rise.
  [[nodiscard]] std::int64_t FenceFloor(const std::string& lock) const;
  using ClaimId = std::list<Claim>::iterator;
  ClaimId BeginClaim(Claim claim, std::int64_t fence_floor);
  void EndClaim(ClaimId claim);
  /// The database's clock has leapt: what was asked for before is not certain any more.
  void OnLeap() { last_leap_ = world_.now(); }
  /// A program was killed. Its claims and tokens do not count any more.
  void Kill(int program);
  /// The fences of the locks that are held exclusively in a group, by lock.
  [[nodiscard]] std::map<std::string, std::int64_t> HeldOf(const std::string& group) const;
  /// From now on, until the end of this call, a client may end locks of others.
  void BeginEnding(const std::string& lock) { ++ending_[lock].under_way; }
  void EndEnding(const std::string& lock);
  /// The lock that was held with this fence was ended by another client.
  void CheckEnded(const std::string& rule, const std::string& lock, std::int64_t fence);

  // Waiters: each process's own stand in a queue, and others get their turn.
  /// A lock was handed over inside a program, or not.
  void OnGranted(int program, const std::string& lock, bool handed_over);
  [[nodiscard]] Queues& queues() noexcept { return queues_; }
  void EndWait(Queues::Call call, bool granted);

  // Writes: each document is a chain of them.
  /// A name for a new write; `fence`: of the lock that it is made under, or 0.
  std::string NewWrite(const std::string& document, std::int64_t fence);
  void Settle(const std::string& write, Fate fate);
  /// These are of one transaction.
  void StoredTogether(std::vector<std::string> writes) { together_.push_back(std::move(writes)); }

  // Reads: no read is older than what was acknowledged before it began.
  [[nodiscard]] std::ptrdiff_t ReadFloor(const std::string& document) const;
  /// `write`: the last one of what was read; nothing: there was no document.
  void CheckRead(const std::string& document, const std::optional<std::string>& write,
                 std::ptrdiff_t floor);
  /// The same of a search, which may show what was there some time ago.
  void CheckFound(const std::string& document, const std::string& write);
  /// Of the amounts of all documents, at one moment.
  void CheckSum(std::int64_t sum);

  void OnRequest(const StoreOp& op) override { store_queues_.OnRequest(op); }
  void OnChange(const Change& change) override;
  void OnUndone(const Change& change) override;
  void OnFutile(const Change& change) override;

  /// When nothing is under way any more.
  void CheckTheEnd();
  [[nodiscard]] std::uint64_t writes() const noexcept { return last_write_; }

  /// Documents that may be erased begin anew with version 1.
  static bool MayBeErased(const std::string& document) {
    return document.find("/e") != std::string::npos;
  }

 private:
  struct Token {
    int program;
    std::string what;
    int completions = 0;
  };
  struct Write {
    std::string document;
    std::int64_t fence;
    Fate fate = Fate::kUnknown;
  };
  /// All writes of a document; "" is an erasure.
  struct Chain {
    std::vector<std::string> links;
    std::map<std::string, std::ptrdiff_t> places;
    std::ptrdiff_t acknowledged = -1;  ///< The last one that a client was told of,
    std::ptrdiff_t read = -1;          ///< and the last one that a client read.
    std::set<std::string> seen;
  };
  /// Where clients end the locks of others.
  struct Ending {
    int under_way = 0;
    Time last{-1};
  };
  /// Does its handle say that it is held, with clocks that can be trusted?
  [[nodiscard]] bool IsReliable(const Claim& claim) const;
  /// And has no other client ended it, of which its holder would learn later?
  [[nodiscard]] bool IsCertain(const Claim& claim) const;
  static std::optional<std::string> LinkOf(const Change& change);
  void CheckLink(const Change& change, const std::string& link);
  [[nodiscard]] bool IsThere(const std::string& write) const;
  void CheckTogether();
  void CheckVersion(const Change& change);
  void CheckSeat(const Change& change);

  World& world_;
  Story& story_;
  std::optional<Violation> violation_;
  std::map<int, Token> tokens_;
  int last_token_ = 0;
  std::list<Claim> claims_;
  Time last_leap_{-1};
  std::map<std::string, std::int64_t> fences_;    ///< The highest that a client has, of each lock.
  std::map<std::string, std::int64_t> versions_;  ///< Of what is in the database.
  std::map<std::string, Ending> ending_;
  std::map<std::pair<int, std::string>, int> handovers_;
  Queues queues_;
  StoreQueues store_queues_;
  std::map<std::string, Write> writes_;
  std::uint64_t last_write_ = 0;
  std::vector<std::vector<std::string>> together_;
  std::map<std::string, Chain> chains_;
  std::map<std::string, std::int64_t> seats_;  ///< Of each document that has one.
};

/// ManagerOptions::max_handovers of all programs.
inline constexpr int kMaxHandovers = 3;

}  // namespace doclock::simulation
