#pragma once

#include <string>

#include "doclock/errors.h"
#include "doclock/export.h"

namespace doclock {

/// Thrown by the database below a store: another client was quicker, in a way that only the
/// database noticed (by a deadlock, for instance), or the connection was lost before anything could
/// be stored: nothing is. The store begins again, after short pauses, until the call's budget is
/// over. Then callers see it, as the StoreException that it is.
class DOCLOCK_EXPORT RacedException : public StoreException {
 public:
  /// @param what the exception's text if it happens each time
  explicit RacedException(const std::string& what = "doclock: other clients were always quicker")
      : StoreException(Errc::kUnavailable, what) {}
  ~RacedException() override;
};

}  // namespace doclock
