#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "document/collection.h"

namespace doclock::locking {

/// The collections of one store that are open, by their names. Thread-safe.
class OpenCollections {
 public:
  /// The open collection of this name; otherwise the one that `make` returns. @throws
  /// std::invalid_argument: see CheckSameCollection
  template <class Make>
  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   std::chrono::milliseconds default_ttl, const Make& make) {
    if (auto open = FindSame(name, fields, default_ttl)) return open;
    const std::lock_guard one_by_one(making_);
    if (auto open = FindSame(name, fields, default_ttl)) return open;
    std::shared_ptr<Collection> made = make();
    const std::lock_guard guard(mutex_);
    return all_.emplace(name, std::move(made)).first->second;
  }

  /// Null: it is not open.
  [[nodiscard]] std::shared_ptr<Collection> Find(const std::string& name) const {
    const std::lock_guard guard(mutex_);
    const auto found = all_.find(name);
    return found == all_.end() ? nullptr : found->second;
  }

 private:
  std::shared_ptr<Collection> FindSame(const std::string& name, const LockFieldNames& fields,
                                       std::chrono::milliseconds default_ttl) const {
    auto open = Find(name);
    if (open) CheckSameCollection(*open, fields, default_ttl);
    return open;
  }

  std::mutex making_;  ///< Held while `make` runs, which may take long. Only its holder adds.
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Collection>> all_;
};

}  // namespace doclock::locking
