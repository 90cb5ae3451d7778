#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "../store_conformance.h"
#include "content.h"
#include "lines.h"
#include "step.h"

namespace doclock::conformance {

/// Plays traces on a store. Everything that can be seen from outside is in the lines it gives,
/// and must be the same on each store.
class Player {
 public:
  /// What foreign programs do to a document of the collection; empty: a test cannot.
  struct Foreigners {
    std::function<void(const Key&)> spoil;
    std::function<void(const Key&, const Body&)> plant;
  };

  /// For steps on the keys 0, 1 and 2.
  Player(Client client, StoreTime clock) : Player(std::move(client), std::move(clock), {0, 1, 2}) {}
  Player(Client client, StoreTime clock, std::vector<Key> keys, Foreigners foreigners = {});

  /// One line per step: the store's result and the document's state after it.
  Lines Play(const Turn& turn);
  /// One line per document: its state, as reads, lists of locks and queries show it.
  Lines LookAtAll();

 private:
  /// An operation that a step asks for, and what it points to.
  struct Call {
    std::variant<AcquireOp, RenewOp, WriteOp, SaveOp, ReadOp> op;
    std::unique_ptr<GrantRequest> next = nullptr;

    StoreOp& store_op() {
      return std::visit([](auto& one) -> StoreOp& { return one; }, op);
    }
  };

  Lines Execute(const Turn& turn);
  static std::string ResultOf(const Call& call, const StoreOp& op);
  std::vector<Call> CallsOf(const Step& step);
  std::string Do(const Step& step);
  std::string Commit(const Step& step);
  Seen LookForCommit(int key);
  std::string Look(int key);
  Call Acquire(const Step& step);
  Call Renew(const Step& step, const Uuid& id, LockMode mode);
  std::vector<Call> RenewShares(const Step& step);
  Call ReleaseShare(const Step& step);
  Call Write(const Step& step);
  Call Save(const Step& step);
  std::unique_ptr<GrantRequest> NextOf(const Step& step, const Uuid& holder);
  std::string AcquireNext(const Step& step, const Search& search);
  std::string Query(const Search& search);
  std::string EnsureIndex(const IndexSpec& index);
  std::string Intervene(const Step& step);
  std::string Spoil(const Step& step);
  std::string Plant(const Step& step);

  [[nodiscard]] const Key& KeyOf(int key) const { return keys_[static_cast<std::size_t>(key)]; }
  [[nodiscard]] int PlaceOf(const Key& key) const;
  Uuid NewAttempt(const Step& step);
  [[nodiscard]] Uuid IdOfAttempt(int attempt) const;
  /// Of the attempt that the step speaks of; nil: there is none.
  [[nodiscard]] Uuid IdOf(const Step& step) const { return IdOfAttempt(attempts_.Of(step)); }
  [[nodiscard]] int HolderOf(const Uuid& id) const;

  Client client_;
  StoreTime clock_;
  std::vector<Key> keys_;
  Foreigners foreigners_;
  std::set<Key> spoilt_;
  Attempts attempts_;
  std::vector<Uuid> ids_;
};

}  // namespace doclock::conformance
