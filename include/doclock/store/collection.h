#pragma once

#include <chrono>
#include <string>

#include "doclock/export.h"
#include "doclock/lock_options.h"
#include "doclock/options.h"

namespace doclock {

/// How the waiters of one process take turns with clients that only poll for a lock.
struct Turns {
  std::chrono::milliseconds after;   ///< A process takes a lock again and again for this long.
  std::chrono::milliseconds length;  ///< Then its waiters leave the lock free for this long.
};

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
  /// Returns how to take turns with clients of another library, whose documents these are: they
  /// poll, and their documents hold neither a queue nor the mark of the last release.
  /// Null: the documents are this library's.
  [[nodiscard]] virtual const Turns* turns() const noexcept { return nullptr; }
  /// Returns whether its documents hold bodies besides their locks.
  [[nodiscard]] virtual bool has_bodies() const noexcept { return true; }

 private:
  std::string name_;
  LockFieldNames fields_;
  std::chrono::milliseconds default_ttl_;
};

}  // namespace doclock
