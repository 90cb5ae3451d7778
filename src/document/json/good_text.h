#pragma once

#include "doclock/store.h"
#include "document/json/row_filter.h"
#include "document/values/utf8.h"

namespace doclock {

/// Settles the operation and returns false if the body holds text that is not valid UTF-8.
inline bool HasGoodText(StoreOp& op, const Body& body) {
  if (detail::AllTextIsUtf8(TreeOf(body))) return true;
  op.Fail(Errc::kDocument, "the body holds a string that is not valid UTF-8");
  return false;
}

}  // namespace doclock
