#include "engine/verbs/holder_write.h"

#include <utility>

namespace doclock::detail {
namespace {

/// min_hold keeps the lock closed until then, so that no waiter can get it before. The release of a
/// share may free nothing.
bool MayHandOver(const Lease& lease, WriteKind kind) {
  if (kind != WriteKind::kRelease || lease.mode == LockMode::kShared) return false;
  return lease.min_hold().count() == 0 || lease.engine->Now() >= lease.granted + lease.min_hold();
}

/// Under an id of its own, so that a look proves the hand-over.
GrantRequest GrantTo(const PendingAcquire& next) {
  GrantRequest grant = MakeGrant(next.spec);
  if (next.ticket.entered) grant.entry = next.ticket.id;
  return grant;
}

}  // namespace

Ending EndingOf(const Lease& lease, WriteKind kind, const Body& body) noexcept {
  const bool discards = kind == WriteKind::kRelease && !body && !lease.named;
  return discards ? Ending::kDiscarded : Ending::kReleased;
}

HolderWrite::HolderWrite(WritingLease writing, WriteKind kind, const Body& body, bool mark)
    : kind_(kind),
      lease_(writing.lease()),
      engine_(*lease_->engine),
      ending_(EndingOf(*lease_, kind, body)),
      background_(engine_.Background()),
      writing_(std::move(writing)),
      held_(lease_, kind, body) {
  if (kind == WriteKind::kCheckpoint) return;
  release_ = engine_.waits().BeginRelease(*lease_, mark, MayHandOver(*lease_, kind));
  if (const auto& next = release_.next()) held_.HandOver(GrantTo(*next));
}

void HolderWrite::Finish(bool failed) noexcept {
  writing_.Done();
  const bool over = lease_->phase() != Phase::kHeld;
  LeasePtr next;
  if (held_.handed_over()) next = GrantToNext();
  if (over) engine_.events().Ended(*lease_, failed ? Ending::kOther : ending_);
  if (kind_ == WriteKind::kCheckpoint) return;
  const bool kept = next != nullptr;
  engine_.waits().EndRelease(release_, std::move(next), over);
  if (over && !kept) engine_.FreedForSearches(*lease_->collection);
}

LeasePtr HolderWrite::GrantToNext() noexcept {
  try {
    return engine_.MakeLease(release_.next()->spec, lease_->key, held_.next(), held_.version(),
                             lease_->born, held_.body(), held_.sent());
  } catch (...) {
    return nullptr;
  }
}

}  // namespace doclock::detail
