#include "mongodb/layouts/as_stored.h"

#include <utility>

#include "mongodb/layouts/layout_unit.h"

namespace doclock::mongodb {
namespace {

/// The body that counts as none if it is empty: a document that has a body is not made, and one
/// that has none is not written.
Body* BodyIn(StoreOp& op) {
  const OpKind kind = op.collection->has_bodies() ? OpKind::kAcquire : OpKind::kWrite;
  if (op.kind != kind) return nullptr;
  return kind == OpKind::kAcquire ? &static_cast<AcquireOp&>(op).request.insert
                                  : &static_cast<WriteOp&>(op).request.body;
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
  if (op.collection->has_bodies()) op.key = &stored_;
  Body* const body = BodyIn(op);
  if (body != nullptr && !IsBody(*body)) empty_ = std::exchange(*body, {});
}

AsStored::~AsStored() {
  op_.key = key_;
  if (empty_) *BodyIn(op_) = std::move(empty_);
}

}  // namespace doclock::mongodb
