#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "doclock/store/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

/// The holder of a lock, as it is stored.
Doc OwnerDoc(const LockHolder& owner);

/// A change to one document, as modifiers ({$set: ...}) if they can express it, and as a pipeline
/// if not: for a future date, and for a body that replaces an unknown one. The server does not
/// evaluate the values.
class Update {
 public:
  explicit Update(const Collection& collection) : collection_(collection) {}

  /// The lock passes to `grant`, from now on. Does not raise the version.
  void Grant(const GrantRequest& grant);
  /// Clears the lock.
  void Clear() { set_.AddNull(collection_.fields().id); }
  /// Changes nothing of the document or its lock, and conflicts with what does. @param mark is new:
  /// to store the same value again is no write.
  void Touch(const Uuid& mark) { set_.Add(collection_.fields().expected, mark); }
  /// Stores the id of a release.
  void Mark(const Uuid& mark) { set_.Add(collection_.fields().released, mark); }
  /// Clears the lock; `mark` is stored as the release's id.
  void Release(const Uuid& mark) {
    Clear();
    Mark(mark);
  }
  /// Clears the lock, or grants it to the first of the queue.
  void ReleaseToFirst(const Uuid& mark);
  /// The lock of `mark` passes to `grant`, whose entry of the queue is removed.
  void HandOver(const Uuid& mark, const GrantRequest& grant);
  /// Renews the lease.
  void RestartLease(std::chrono::milliseconds ttl);
  void RaiseVersion() { raise_ = true; }
  /// Records the version at the grant of this lock, which the version does not show any more.
  void KeepFence(const Uuid& lock_id, std::int64_t fence);
  /// Removes a stored min_hold that is over.
  void ForgetClosed() { unset_.push_back(collection_.fields().closed); }

  /// Removes shares that are over.
  void ForgetShares() { unset_.push_back(collection_.fields().readers); }
  /// Removes a queue whose entries are over.
  void ForgetQueue() { unset_.push_back(collection_.fields().queue); }

  /// Removes the holder that the last grant named.
  void ForgetOwner() { set_.AddNull(collection_.fields().owner); }
  /// The lease is that of this share, as it is stored.
  void Cover(const bson_t& share);
  /// Keeps only these entries of an array: an empty one is removed.
  void Keep(const std::string& array, const Array& entries);
  /// Wakes the waiter that is granted the lock. @param wake { wake: as in its entry }, or empty
  void Wake(const Doc& wake);

  /// Writes the new body. `base`: the stored body, if it is known; then only the differences are
  /// sent.
  /// @throws DocumentException
  void ReplaceBody(const Body& body, const Body& base);
  /// Some fields of the body. @throws DocumentException
  void MergeBody(const Body& fields);
  /// Fields that the document gets if this update creates it. For modifiers only.
  void OnInsert(const Body& body, const Uuid& born);

  /// Puts the update into a command or statement.
  void AddTo(Doc& target, std::string_view name) const;

 private:
  [[nodiscard]] bool needs_pipeline() const noexcept {
    return closed_in_ || replacement_ || grants_to_first_ || entry_;
  }
  [[nodiscard]] Doc Modifiers() const;
  [[nodiscard]] Array Pipeline() const;
  [[nodiscard]] Doc Replacement() const;

  const Collection& collection_;
  Doc set_;
  std::vector<std::string> unset_;
  bool now_ = false;
  bool raise_ = false;
  bool grants_to_first_ = false;
  std::optional<Uuid> entry_;  ///< To be removed from the queue.
  std::optional<std::chrono::milliseconds> closed_in_;
  std::optional<Doc> replacement_;
  Doc on_insert_;
};

}  // namespace doclock::mongodb
