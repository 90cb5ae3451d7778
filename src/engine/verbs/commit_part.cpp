#include "engine/verbs/commit_part.h"

#include <algorithm>
#include <variant>

#include "engine/verbs/holder_write.h"

namespace doclock::detail {
namespace {

struct Maker {
  Engine& engine;
  bool mark;
  std::unique_ptr<CommitPart> operator()(HolderSpec&& spec) const {
    return std::make_unique<HolderWrite>(engine, std::move(spec), mark);
  }
  std::unique_ptr<CommitPart> operator()(SaveSpec&& spec) const {
    return std::make_unique<SavePart>(engine, std::move(spec));
  }
  std::unique_ptr<CommitPart> operator()(ValueRelease&& release) const {
    return std::make_unique<ValuePart>(engine, std::move(release));
  }
};

}  // namespace

void CommitPart::Doubted() noexcept {
  const auto left = [](const StoreOp& op) {
    if (op.kind == OpKind::kSave) return VersionLeft(static_cast<const SaveOp&>(op));
    return VersionLeft(static_cast<const WriteOp&>(op));
  };
  least_version_ = std::min(least_version_, left(op()));
}

std::unique_ptr<CommitPart> CommitPart::Make(Engine& engine, CommitPartSpec&& spec, bool mark) {
  return std::visit(Maker{engine, mark}, std::move(spec));
}

const char* UnknownText(const StoreOp& op) noexcept {
  const bool saves = op.kind == OpKind::kSave;
  if (saves ? static_cast<const SaveOp&>(op).request.save == SaveKind::kErase
            : static_cast<const WriteOp&>(op).request.write == WriteKind::kErase) {
    return " was erased is unknown";
  }
  const bool releases =
      !saves && static_cast<const WriteOp&>(op).request.write == WriteKind::kRelease;
  return releases ? " was released is unknown" : " was written is unknown";
}

SavePart::SavePart(Engine& engine, SaveSpec&& spec)
    : engine_(engine), spec_(std::move(spec)), save_(*spec_.collection, spec_.key) {
  save_.request.save = spec_.save;
  save_.request.expected = spec_.expected;
  save_.request.born = spec_.born;
  save_.request.write_id = NewUuid();
  save_.request.body = spec_.body;
  save_.request.base = spec_.base;
}

std::int64_t SavePart::Written(const ReadOp* look) noexcept {
  if (save_.request.Writes() && save_.request.save != SaveKind::kErase)
    engine_.waits().FreedForSearches(*save_.collection);
  const bool inserts = spec_.save == SaveKind::kInsert;
  result_.born = inserts ? save_.result.born : spec_.born;
  if (look != nullptr) result_.born = look->result.born;
  result_.version = VersionOf(save_);
  return result_.version;
}

FailurePtr SavePart::Refused() noexcept {
  FailurePtr failure = FailureOf(save_);
  if (failure->code == Errc::kConflict && save_.request.expected != kAnyVersion) {
    failure->expected = save_.request.expected;
  }
  return failure;
}

ValuePart::ValuePart(Engine& engine, ValueRelease&& release)
    : engine_(engine), release_(std::move(release)), write_(*release_.collection, release_.key) {
  write_.request.lock_id = release_.lock_id;
  write_.request.release_id = release_.release_id.is_nil() ? NewUuid() : release_.release_id;
  write_.request.mode = release_.mode;
  if (release_.mode == LockMode::kExclusive) write_.request.expected = release_.version;
  write_.request.body = release_.fields;
  write_.request.merge = true;
}

Trace ValuePart::TraceIn(const ReadOp& look) const noexcept {
  const Trace trace = TraceOf(write_, look);
  if (trace != Trace::kUnknown || look.status != OpStatus::kDone) return trace;
  if (look.result.lock_id == release_.lock_id) return Trace::kNever;
  // The document does not show whether a share is held; trying again does.
  const bool gone = write_.status == OpStatus::kLost || write_.status == OpStatus::kMissing;
  const bool may_be_held =
      release_.mode == LockMode::kShared && look.result.lock_id == kSharedLockId && !gone;
  return may_be_held ? Trace::kUnmoved : Trace::kUnknown;
}

FailurePtr ValuePart::Refused() noexcept {
  const bool holds_none =
      !MayBeSent({}) || write_.status == OpStatus::kLost || write_.status == OpStatus::kMissing;
  if (!holds_none) return FailureOf(write_);
  return MakeFailure(Errc::kNotOwner, *release_.collection, release_.key,
                     "the entity does not hold the lock of ", "; nothing was written");
}

}  // namespace doclock::detail
