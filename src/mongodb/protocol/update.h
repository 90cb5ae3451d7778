#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "doclock/store.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

/// Who holds a lock, as it is stored.
Doc OwnerDoc(const LockHolder& owner);

/// A change to one document, as modifiers ({$set: ...}) where they can say it, and as a pipeline
/// where they cannot: a date to come, and a body that takes the place of one nobody knows. Values
/// stand where nothing evaluates them.
class Update {
 public:
  explicit Update(const Collection& collection) : collection_(collection) {}

  /// The lock passes to `grant`, from now on. Does not raise the version.
  void Grant(const GrantRequest& grant);
  /// The lock is gone; `mark` says by whose doing.
  void Release(const Uuid& mark);
  /// The lock of `mark` passes to `grant`.
  void HandOver(const Uuid& mark, const GrantRequest& grant);
  /// The lease starts anew.
  void RestartLease(std::chrono::milliseconds ttl);
  void RaiseVersion() { raise_ = true; }
  /// What a stored min_hold that is over leaves behind.
  void ForgetClosed() { unset_.push_back(collection_.fields().closed); }

  /// Shares that are over.
  void ForgetShares() { unset_.push_back(collection_.fields().readers); }
  /// An intent, for whoever left it has the lock or has lost it to another.
  void ForgetIntent() { unset_.push_back(collection_.fields().intent); }

  /// The body as it is to be. `base`: as it is, where that is known; then only what differs is
  /// sent.
  /// @throws DocumentException
  void ReplaceBody(const Body& body, const Body& base);
  /// Some fields of the body. @throws DocumentException
  void MergeBody(const Body& fields);
  /// What the document gets if it is made by this update. For modifiers only.
  void OnInsert(const Body& body, const Uuid& born);

  /// Puts the update into a command or statement.
  void AddTo(Doc& target, std::string_view name) const;

 private:
  [[nodiscard]] bool needs_pipeline() const noexcept { return closed_in_ || replacement_; }
  [[nodiscard]] Doc Modifiers() const;
  [[nodiscard]] Array Pipeline() const;
  [[nodiscard]] Doc Replacement() const;

  const Collection& collection_;
  Doc set_;
  std::vector<std::string> unset_;
  bool now_ = false;
  bool raise_ = false;
  std::optional<std::chrono::milliseconds> closed_in_;
  std::optional<Doc> replacement_;
  Doc on_insert_;
};

}  // namespace doclock::mongodb
