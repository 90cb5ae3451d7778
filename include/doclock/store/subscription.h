#pragma once

#include "doclock/export.h"

namespace doclock {

/// A subscription. Its destructor ends it: no hint runs or comes afterwards.
class DOCLOCK_EXPORT Subscription {
 public:
  Subscription() = default;
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  virtual ~Subscription();
};

}  // namespace doclock
