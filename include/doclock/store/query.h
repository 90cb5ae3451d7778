#pragma once

#include <cstdint>

#include "doclock/body.h"
#include "doclock/key.h"
#include "doclock/uuid.h"

namespace doclock {

/// One document of a query.
struct QueryRow {
  Key key;                   ///< Its key.
  Body body;                 ///< Its body.
  std::int64_t version = 0;  ///< Its version.
  Uuid born{};               ///< Its incarnation.
  bool locked = false;       ///< A live lock?
  int left_out = 0;          ///< Stored members that no body can have; they stay.
};

}  // namespace doclock
