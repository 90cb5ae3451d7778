#include "engine/background_release.h"

#include <memory>

#include "engine/procedure.h"

namespace doclock::detail {
namespace {

class BackgroundRelease final : public Procedure {
 public:
  BackgroundRelease(Engine& engine, Collection& collection, const Key& key, const Uuid& lock_id,
                    LockMode mode, TimePoint until)
      : engine_(engine), key_(key), op_(collection, key_), until_(until) {
    op_.write = WriteKind::kRelease;
    op_.lock_id = lock_id;
    op_.mode = mode;
  }

  Step Next() override {
    if (!started_) {
      started_ = true;
      return {&op_};
    }
    // "Not held" proves nothing: the grant may still be on its way.
    if (op_.status == OpStatus::kDone || engine_.closed()) return {};
    if (op_.detail && op_.detail->code == Errc::kForked) return {};  // the parent's matter
    const auto pause = backoff_.Next();
    if (engine_.Now() + pause >= until_) return {};
    return {&op_, pause};
  }

 private:
  Engine& engine_;
  const Key key_;
  WriteOp op_;
  const TimePoint until_;
  Backoff backoff_;
  bool started_ = false;
};

}  // namespace

void ReleaseInBackground(Engine& engine, Collection& collection, const Key& key,
                         const Uuid& lock_id, LockMode mode, TimePoint until) {
  const auto keep = engine.shared_from_this();
  keep->BeginBackground();
  RunAsync(keep, std::make_shared<BackgroundRelease>(engine, collection, key, lock_id, mode, until),
           [keep] { keep->EndBackground(); });
}

}  // namespace doclock::detail
