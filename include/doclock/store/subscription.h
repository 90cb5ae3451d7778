#pragma once

#include "doclock/export.h"

namespace doclock {

/// A subscription. Destroying it ends it; no hint is under way or comes afterwards.
class DOCLOCK_EXPORT Subscription {
 public:
  Subscription() = default;
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  virtual ~Subscription();
};

}  // namespace doclock
