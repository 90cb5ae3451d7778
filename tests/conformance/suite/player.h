#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "lines.h"
#include "step.h"
#include "store_conformance.h"

namespace doclock::conformance {

/// Plays traces on a store. Everything that can be seen from outside is in the lines it gives,
/// and must be the same on each store.
class Player {
 public:
  Player(Client client, StoreTime clock) : client_(std::move(client)), clock_(std::move(clock)) {}

  /// One line per step: what the store said and what the document looks like now.
  std::vector<std::string> Play(const std::vector<Step>& steps);

 private:
  std::string Do(const Step& step);
  std::string Look(int key);
  std::string Acquire(const Step& step);
  std::string AcquireNext(const Step& step);
  std::string Renew(const Step& step, LockMode mode);
  std::string ReleaseShare(const Step& step);
  std::string Write(const Step& step);
  std::string Save(const Step& step);
  std::string Intervene(const Step& step, Intervention what);

  Uuid NewAttempt(const Step& step);
  /// Of the attempt that the step speaks of; nil: there is none.
  [[nodiscard]] Uuid IdOf(const Step& step) const;
  [[nodiscard]] int HolderOf(const Uuid& id) const;

  Client client_;
  StoreTime clock_;
  Attempts attempts_;
  std::vector<Uuid> ids_;
  std::vector<Uuid> writers_;
};

}  // namespace doclock::conformance
