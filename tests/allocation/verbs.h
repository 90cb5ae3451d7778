#pragma once

#include <string>
#include <vector>

#include "allocation/bench.h"

namespace doclock::allocation_test {

/// What a lock that the verb took may be good for afterwards, with its handle gone.
enum class Leaves : std::uint8_t {
  kNothing,  ///< It is free.
  kLease,    ///< It ends with its lease: it was detached.
};

struct Verb {
  std::string name;
  void (*prepare)(Bench&);
  void (*run)(Bench&);
  Leaves leaves = Leaves::kNothing;
};
inline std::ostream& operator<<(std::ostream& out, const Verb& verb) { return out << verb.name; }

std::vector<Verb> VerbsThatLock();
std::vector<Verb> VerbsOfHolders();
std::vector<Verb> VerbsWithoutLock();
std::vector<Verb> VerbsOfNamedLocks();

}  // namespace doclock::allocation_test
