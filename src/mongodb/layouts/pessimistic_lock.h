#pragma once

#include "mongodb/layouts/layout.h"

namespace doclock::mongodb {

/// The MongoDB pessimistic locks for Java (com.mongodb.pessimistic). A lock is a document of four
/// fields: _id (the name), ownerId (text), ttlMs and expiresAt (int64, in ms). It is free where
/// expiresAt is before the time; a release deletes it. The other library decides by its estimate of
/// the server's time. Two things follow from that:
/// - Its lock counts as over kMargin later than its document says.
/// - A lease of doclock ends in the document kMargin later than its holder believes, and its ttlMs,
///   by which a beat of the other library may set the end, is longer by twice that.
///
/// The other library compares ownerId, and does not look into it. That of doclock is the lock's id
/// and its fence. A UUID alone is the other library's, and has no fence. See Layout for why
/// fences rise nevertheless.
class PessimisticLockLayout final : public Layout {
 public:
  /// How far its estimate may be off.
  static constexpr std::chrono::milliseconds kMargin{500};

  [[nodiscard]] const char* name() const noexcept override { return "pessimisticlock"; }
  [[nodiscard]] const char* library() const noexcept override { return "com.mongodb.pessimistic"; }
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
