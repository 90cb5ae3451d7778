#pragma once

#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "conformance/store_conformance.h"

namespace doclock::conformance {

/// One step of a random trace: small numbers that the player turns into operations.
struct Step {
  enum class Kind {
    kAcquire,
    kCreate,
    kRenew,
    kRelease,
    kReleaseByValue,
    kCheckpoint,
    kHandOver,
    kErase,
    kInsert,
    kReplace,
    kSaveErase,
    kExpire,
    kBreak,
    kSteal,
    kPurge,
    kAdvance,
  };
  static constexpr int kKinds = static_cast<int>(Kind::kAdvance) + 1;

  Kind kind = Kind::kAcquire;
  int key = 0;         ///< which document
  int who = 0;         ///< which of the holders there have been, modulo their number
  int number = 0;      ///< value of the body; seconds to advance
  bool stale = false;  ///< use a version that was right one write ago
};

void PrintTo(const Step& step, std::ostream* out);
inline void showValue(const Step& step, std::ostream& out) { PrintTo(step, &out); }

/// What the rules say, in the plainest way: one document as a record.
struct ModelDocument {
  std::int64_t version = 0;
  int holder = 0;  ///< 0: nobody
  std::int64_t until = 0;
  int value = 0;
};

/// Plays a trace on a store and on the model. Everything that can be seen from outside is in the
/// lines it returns, and must be the same on each store.
class Player {
 public:
  Player(Client client, StoreTime clock) : client_(std::move(client)), clock_(std::move(clock)) {}

  /// One line per step: what the store said and what the document looks like now.
  std::vector<std::string> PlayStore(const std::vector<Step>& steps);
  /// As above, as it ought to be.
  static std::vector<std::string> PlayModel(const std::vector<Step>& steps);

 private:
  class Side;
  class StoreSide;
  class ModelSide;

  Client client_;
  StoreTime clock_;
};

}  // namespace doclock::conformance
