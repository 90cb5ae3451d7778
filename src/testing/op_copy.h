#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "doclock/store/store.h"

namespace doclock::testing {

/// A copy of an operation's request with everything that it points at. It can be executed while the
/// original gets another result, or after the original is gone.
class OpCopy {
 public:
  explicit OpCopy(const StoreOp& op);
  OpCopy(const OpCopy&) = delete;
  OpCopy& operator=(const OpCopy&) = delete;

  [[nodiscard]] StoreOp& op() noexcept { return *op_; }

 private:
  void PointToOwn(const GrantRequest*& next);

  Key key_;
  std::optional<GrantRequest> next_;
  std::shared_ptr<void> owned_;
  StoreOp* op_ = nullptr;
};

/// Copies operations that are stored together.
class CommitCopy {
 public:
  explicit CommitCopy(const CommitOp& commit) {
    for (const StoreOp* const op : commit.ops) {
      copies_.push_back(std::make_unique<OpCopy>(*op));
      ops_.push_back(&copies_.back()->op());
    }
    commit_.ops = ops_;
    commit_.join = commit.join;
  }
  CommitCopy(const CommitCopy&) = delete;
  CommitCopy& operator=(const CommitCopy&) = delete;

  [[nodiscard]] CommitOp& commit() noexcept { return commit_; }

 private:
  std::vector<std::unique_ptr<OpCopy>> copies_;
  std::vector<StoreOp*> ops_;
  CommitOp commit_;
};

}  // namespace doclock::testing
