#pragma once

#include <chrono>

#include "mongodb/layouts/layout.h"

namespace doclock::mongodb {

/// MongoLocks (.NET), which locks a document by two of its members: LockId (a UUID of subtype 4, or
/// null) and LockTime (a date, or null). The other members are the body, which a release writes.
/// The document is free where LockId is null, or LockTime is longer ago than a maximum that the
/// document does not tell. Their callers pause as they like.
///
/// **Clocks.** Their clients decide by their own, which may differ from the server's by kMargin. A
/// lease of ours has the LockTime with which it ends that much later than its holder believes. A
/// lock of theirs is over that much after the maximum. Which of both wrote a lock is not stored, so
/// for the next holder of ours each ends later by both.
///
/// **The fence** is not stored. That of a grant is the time of its look (see Layout). The look
/// gives a free document a LockTime that no other one has, so that the guard notices a whole lock
/// that came and went since.
///
/// **A delayed write** of a holder matches nothing once a later one was stored: each raises
/// LockTime, and names the one that it saw.
class DocumentLockLayout final : public Layout {
 public:
  /// @param longest how long a lock of theirs lasts
  explicit DocumentLockLayout(std::chrono::milliseconds longest) : longest_(longest) {}

  /// How far a clock of theirs may be from the server's.
  static constexpr std::chrono::milliseconds kMargin{1000};

  [[nodiscard]] const char* name() const noexcept override { return "mongolocks"; }
  [[nodiscard]] const char* library() const noexcept override { return "MongoLocks"; }
  [[nodiscard]] const LockFieldNames* beside_body() const noexcept override;
  [[nodiscard]] rules::LockState Read(const bson_t& doc, std::int64_t now,
                                      std::string& bad_field) const override;
  void AddLook(Doc& command) const override;
  [[nodiscard]] Statement Change(const Key& key, const bson_t& seen, const rules::LockState& was,
                                 const rules::LockState& now) const override;
  [[nodiscard]] bool MayRenew(const rules::LockState& lock) const override;
  [[nodiscard]] Doc Renewal(const RenewOp& op) const override;
  [[nodiscard]] Statement Release(const WriteOp& op) const override;
  [[nodiscard]] Doc Index() const override { return {}; }

 private:
  /// The LockTime with which theirs sees a lock end `left` from now.
  [[nodiscard]] Doc TimeOf(std::chrono::milliseconds left) const;
  void AddLive(Doc& filter) const;

  const std::chrono::milliseconds longest_;
};

}  // namespace doclock::mongodb
