#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "doclock/testing/faulty_store.h"

namespace doclock::testing {

/// The faults to inject, and how often each kind of operation was seen. Thread-safe.
class FaultPlan {
 public:
  void Inject(Fault fault);
  /// Returns how many faults never struck.
  int Heal();
  void Reset();
  void CountCall();
  [[nodiscard]] int Count(OpKind kind) const;
  [[nodiscard]] int Calls() const;

  /// Counts an operation and returns its fault. A null key is not known yet.
  std::optional<Fault::Kind> Strike(OpKind kind, const Key* key);

 private:
  static bool Concerns(const Fault& fault, OpKind kind, const Key* key);

  mutable std::mutex mutex_;
  struct Planned {
    Fault fault;
    bool struck = false;
  };
  std::vector<Planned> faults_;
  std::map<OpKind, int> counts_;
  int calls_ = 0;
};

}  // namespace doclock::testing
