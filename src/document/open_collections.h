#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "document/collection.h"

namespace doclock {

/// The collections of one store that are open, by their names. Thread-safe.
template <class C>
class OpenCollections {
 public:
  /// The open collection of this name; otherwise the one that `make` returns, which gets the number
  /// of those before it. @throws std::invalid_argument: see CheckSameCollection
  template <class Make>
  std::shared_ptr<C> Open(const std::string& name, const LockFieldNames& fields,
                          std::chrono::milliseconds default_ttl, const Make& make) {
    const std::lock_guard guard(mutex_);
    if (const auto open = all_.find(name); open != all_.end()) {
      CheckSameCollection(*open->second, fields, default_ttl);
      return open->second;
    }
    return all_.emplace(name, make(all_.size())).first->second;
  }

  /// Null: it is not open.
  [[nodiscard]] std::shared_ptr<C> Find(const std::string& name) const {
    const std::lock_guard guard(mutex_);
    const auto found = all_.find(name);
    return found == all_.end() ? nullptr : found->second;
  }

  [[nodiscard]] std::vector<std::string> Names() const {
    const std::lock_guard guard(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, collection] : all_) names.push_back(name);
    return names;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<C>> all_;
};

}  // namespace doclock
