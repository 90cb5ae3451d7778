/// Writes of several documents that are stored together, or not at all.

#include "doclock/detail/engine.h"

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "engine/verbs/launch.h"
#include "engine/verbs/write_procedure.h"
#include "engine/verbs/writing_lease.h"

namespace doclock::detail {
namespace {

/// What a transaction writes.
struct Parts {
  /// `mark`: see WaitTable::BeginRelease.
  Parts(Engine& engine, CommitSpec&& spec, bool mark) {
    for (CommitPartSpec& part : spec.parts) {
      owned.push_back(CommitPart::Make(engine, std::move(part), mark));
      parts.push_back(owned.back().get());
      ops.push_back(&parts.back()->op());
    }
    commit.ops = ops;
    commit.join = std::move(spec.join);
  }

  std::vector<std::unique_ptr<CommitPart>> owned;
  std::vector<CommitPart*> parts;
  std::vector<StoreOp*> ops;
  CommitOp commit;
};

/// One transaction.
class CommitProcedure final : Parts, public WriteProcedure {
 public:
  CommitProcedure(Engine& engine, CommitSpec&& spec, bool mark)
      : Parts(engine, std::move(spec), mark), WriteProcedure(engine, parts, &commit) {
    result_.versions.reserve(parts.size());
  }
  ~CommitProcedure() override { DropParts(); }

  CommitResult Finish() noexcept {
    result_.failure = EndParts();
    result_.thrown = std::move(thrown_);
    result_.refused = refused_part_;
    if (result_.failure || result_.thrown) return std::move(result_);
    for (const CommitPart* const part : parts) result_.versions.push_back(part->version);
    return std::move(result_);
  }

 private:
  CommitResult result_;
};

/// Why no document may be written; null if all may.
FailurePtr WhyUnusable(Engine& engine, const CommitSpec& spec) noexcept {
  for (const CommitPartSpec& part : spec.parts) {
    const auto* const held = std::get_if<HolderSpec>(&part);
    if (held == nullptr) continue;
    if (FailurePtr failure = Unusable(*held->lease)) return failure;
  }
  return WhyClosed(engine);
}

}  // namespace

CommitResult Commit(const EnginePtr& engine, CommitSpec spec) {
  if (spec.parts.empty()) return {};
  return RunHere<CommitProcedure>(engine, WhyUnusable(*engine, spec), *engine, std::move(spec),
                                  false);
}

void CommitAsync(const EnginePtr& engine, CommitSpec spec, CommitDone done) {
  if (spec.parts.empty()) return RefuseLater<CommitResult>(*engine, nullptr, std::move(done));
  RunOnWorkers<CommitProcedure>(engine, WhyUnusable(*engine, spec), std::move(done), *engine,
                                std::move(spec), true);
}

}  // namespace doclock::detail
