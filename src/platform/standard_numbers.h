#pragma once

#include "doclock/export.h"

namespace doclock::platform {

/// Takes those of the descriptors 0 to 2 that the program has closed, while one of these lives, so
/// that no file opened meanwhile gets one of them: what the program prints would be written into
/// that file. (Linux; elsewhere it does nothing.)
class DOCLOCK_EXPORT StandardNumbersTaken {
 public:
  StandardNumbersTaken() noexcept;
  StandardNumbersTaken(const StandardNumbersTaken&) = delete;
  StandardNumbersTaken& operator=(const StandardNumbersTaken&) = delete;
  ~StandardNumbersTaken();

  /// Takes them until the process ends.
  static void ForGood() noexcept;
};

}  // namespace doclock::platform
