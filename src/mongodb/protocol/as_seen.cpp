#include "mongodb/protocol/as_seen.h"

namespace doclock::mongodb {

void AddAsSeen(Doc& filter, const std::string& field, const bson_t& seen) {
  bson_iter_t at;
  Doc same;
  if (FindField(seen, field, at)) {
    same.Add("$eq", *bson_iter_value(&at)).Add("$type", static_cast<int>(bson_iter_type(&at)));
    if (!BSON_ITER_HOLDS_ARRAY(&at)) same.Add("$not", Doc::Of("$type", "array"));
  } else {
    same.Add("$exists", false);
  }
  filter.Add(field, same);
}

}  // namespace doclock::mongodb
