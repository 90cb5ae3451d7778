#include "mongodb/layouts/as_stored.h"

#include <utility>

#include "mongodb/layouts/layout_unit.h"

namespace doclock::mongodb {
namespace {

Body* InsertOf(StoreOp& op) {
  return op.kind == OpKind::kAcquire ? &static_cast<AcquireOp&>(op).insert : nullptr;
}

}  // namespace

bool IsBody(const Body& body) {
  try {
    return body && !body.json().empty();
  } catch (const DocumentException&) {
    return true;
  }
}

AsStored::AsStored(StoreOp& op)
    : op_(op), key_(op.key), stored_(KeyIn(LayoutOf(*op.collection), *op.key)) {
  if (!op.collection->has_bodies()) return;
  op.key = &stored_;
  Body* const insert = InsertOf(op);
  if (insert != nullptr && !IsBody(*insert)) insert_ = std::exchange(*insert, {});
}

AsStored::~AsStored() {
  op_.key = key_;
  if (insert_) *InsertOf(op_) = std::move(insert_);
}

}  // namespace doclock::mongodb
