#pragma once

#include <chrono>
#include <string>

#include "doclock/export.h"
#include "doclock/lock_options.h"
#include "doclock/options.h"

namespace doclock {

/// A collection as its store knows it. Made by Store::Open; lives as long as its store.
class DOCLOCK_EXPORT Collection {
 public:
  /// For stores. @throws std::invalid_argument for a bad name, field name or ttl.
  Collection(std::string name, LockFieldNames fields, std::chrono::milliseconds default_ttl);
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;
  virtual ~Collection();
  /// Its name.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Returns the names of the lock's fields.
  [[nodiscard]] const LockFieldNames& fields() const noexcept { return fields_; }
  /// Returns the lease of stored locks that have no length of their own.
  [[nodiscard]] std::chrono::milliseconds default_ttl() const noexcept { return default_ttl_; }

 private:
  std::string name_;
  LockFieldNames fields_;
  std::chrono::milliseconds default_ttl_;
};

}  // namespace doclock
