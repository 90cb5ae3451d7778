#pragma once

#include "mongodb/layouts/layout.h"

namespace doclock::mongodb {

/// mongo-lock by Square (Go). A document for each resource, which stays: `resource` (its name),
/// `exclusive` (a lock, or one that is not acquired) and `shared` (`count`, and `locks` as many). A
/// lock has lockId, owner, host, comment (texts or null), createdAt, renewedAt, expiresAt (dates or
/// null; null: for ever), acquired, and an _id by which theirs sorts.
///
/// **Clocks.** Their clients decide by their own, which may differ from the server's by kMargin. A
/// lock of ours is stored as one that ends that much later than its lease does, and theirs is over
/// that much after it says so. Ours are known by their comment.
///
/// **The fence** of a grant stands in the comment too. A vacant document gets an _id within
/// `exclusive`, and so does one that is shared with each grant: so a write notices every grant of
/// ours since its look.
class MongoLockLayout final : public Layout {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "mongolock"; }
  [[nodiscard]] const char* library() const noexcept override { return "square/mongo-lock"; }
  [[nodiscard]] const char* key_field() const noexcept override { return "resource"; }
  [[nodiscard]] bool has_shares() const noexcept override { return true; }
  [[nodiscard]] const Turns& turns() const noexcept override;
  [[nodiscard]] rules::LockState Read(const bson_t& doc, std::int64_t now,
                                      std::string& bad_field) const override;
  void AddLook(Doc& command) const override;
  [[nodiscard]] Statement Change(const Key& key, const bson_t& seen, const rules::LockState& was,
                                 const rules::LockState& now) const override;
  [[nodiscard]] Doc Renewal(const RenewOp& op) const override;
  [[nodiscard]] Statement Release(const WriteOp& op) const override;
  [[nodiscard]] Doc Index() const override;
};

}  // namespace doclock::mongodb
