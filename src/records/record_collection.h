#pragma once

#include <memory>

#include "doclock/store/collection.h"
#include "document/watchers.h"

namespace doclock::records {

/// A collection of records.
class RecordCollection : public Collection {
 public:
  using Collection::Collection;
  [[nodiscard]] Watchers& watchers() noexcept { return *watchers_; }

 private:
  std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
};

}  // namespace doclock::records
