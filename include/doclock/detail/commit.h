#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <variant>
#include <vector>

#include "doclock/detail/engine.h"

/// @file
/// The engine's part of transactions. Not for users.

namespace doclock::detail {

/// A write under a lock; without a body the stored one stays.
struct HolderSpec {
  LeasePtr lease;
  WriteKind kind = WriteKind::kRelease;
  Body body;
};

/// The write of one document in a transaction.
using CommitPartSpec = std::variant<HolderSpec, SaveSpec, ValueRelease>;

struct CommitSpec {
  std::vector<CommitPartSpec> parts;       ///< Each of another document; none: nothing is done.
  std::function<void(void* native)> join;  ///< See CommitOp.
};

struct CommitResult {
  FailurePtr failure;                  ///< Names the document that was refused.
  std::size_t refused = 0;             ///< With `failure`: the part that it names, if it names one.
  std::exception_ptr thrown;           ///< What `join` threw.
  std::vector<std::int64_t> versions;  ///< After success: of each part.
};

/// Writes all documents, or none. After kInDoubt, kForked and kClosed all locks are gone; after
/// kLost that of the named document. Otherwise all are held as before.
/// @throws std::logic_error if a lease was released already, or is in use
using CommitDone = std::function<void(CommitResult)>;
DOCLOCK_EXPORT CommitResult Commit(const EnginePtr&, CommitSpec);
DOCLOCK_EXPORT void CommitAsync(const EnginePtr&, CommitSpec, CommitDone);

}  // namespace doclock::detail
