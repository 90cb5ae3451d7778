#pragma once

#include "doclock/store.h"

namespace doclock::mongodb {

/// Is there more than an empty document? One that is no JSON is more.
bool IsBody(const Body& body);

/// While it lives, the operation names its document by the key in the document, and gives no empty
/// body.
class AsStored {
 public:
  /// @param op on a collection with a layout; outlives this
  explicit AsStored(StoreOp& op);
  AsStored(const AsStored&) = delete;
  AsStored& operator=(const AsStored&) = delete;
  ~AsStored();

 private:
  StoreOp& op_;
  const Key* const key_;
  const Key stored_;
  Body empty_;
};

}  // namespace doclock::mongodb
