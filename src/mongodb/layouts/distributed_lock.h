#pragma once

#include "mongodb/layouts/layout.h"

namespace doclock::mongodb {

/// DistributedLock.MongoDB (.NET). A lock is a document of five fields: _id (the name), lockId (32
/// hexadecimal digits), acquiredAt, expiresAt, fencingToken (int64). It is free where expiresAt is
/// not after the server's time; a release deletes it. Only the server's clock decides.
///
/// The other library's token begins at 1 with every new document. That of a grant by doclock is
/// higher than all before it, and goes on rising over deletions (see LayoutStore).
class DistributedLockLayout final : public Layout {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "distributedlock"; }
  [[nodiscard]] const char* library() const noexcept override { return "DistributedLock.MongoDB"; }
  [[nodiscard]] const Turns& turns() const noexcept override;
  [[nodiscard]] rules::LockState Read(const bson_t& doc, std::int64_t now,
                                      std::string& bad_field) const override;
  [[nodiscard]] Doc Vacant() const override;
  [[nodiscard]] Statement Change(const Key& key, const bson_t& seen, const rules::LockState& was,
                                 const rules::LockState& now) const override;
  [[nodiscard]] Doc Renewal(const RenewOp& op) const override;
  [[nodiscard]] Statement Release(const WriteOp& op) const override;
  [[nodiscard]] Doc Index() const override;
};

}  // namespace doclock::mongodb
