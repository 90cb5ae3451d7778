#pragma once

#include <atomic>
#include <memory>

#include "doclock/store/operations.h"
#include "document/watchers.h"

namespace doclock::records {

/// A collection of records.
class RecordCollection : public Collection {
 public:
  using Collection::Collection;
  [[nodiscard]] Watchers& watchers() noexcept { return *watchers_; }
  /// Has it a unique index, as far as this process knows? It never loses one.
  [[nodiscard]] bool is_unique() const noexcept { return is_unique_; }
  void SetUnique() noexcept { is_unique_ = true; }

 private:
  std::atomic<bool> is_unique_ = false;
  std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
};

}  // namespace doclock::records
