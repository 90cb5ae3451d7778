#include "mongodb/protocol/sound_lock.h"

#include <string_view>

#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/lock_filters.h"
#include "mongodb/protocol/share_filters.h"

namespace doclock::mongodb {

Doc SoundLockFilter(const AcquireOp& op) {
  const Collection& collection = *op.collection;
  Doc filter;
  filter.Add("_id", Equals(*op.key));
  AddGoodFields(filter, collection);
  filter.Add("$expr", SoundLockExpr(collection));
  return filter;
}

Doc SoundLockExpr(const Collection& collection) {
  const LockFieldNames& names = collection.fields();
  const Doc lease = Or(IsNothing(names.id), GoodLeaseExpr(collection));
  const Doc closed = TypeIn(names.closed, {"missing", "null", "date"});
  const Doc shares = SoundSharesExpr(collection);
  return And({&lease, &closed, &shares});
}

Doc IsOver(const Collection& collection) {
  const LockFieldNames& names = collection.fields();
  Doc ttl;
  ttl.Add("0", FieldPath(names.ttl)).Add("1", std::int64_t{collection.default_ttl().count()});
  return Or(IsNothing(names.id),
            BinaryOperator("$gte", AgeOf(names.time), Doc::OfArray("$ifNull", ttl)));
}

Doc IsFree(const Collection& collection) {
  const Doc over = IsOver(collection), open = OpenExpr(collection);
  return And({&over, &open});
}

}  // namespace doclock::mongodb
