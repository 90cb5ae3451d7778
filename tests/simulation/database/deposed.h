#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "simulation/database/breakage.h"
#include "simulation/database/member.h"
#include "simulation/database/primary.h"
#include "simulation/database/watcher.h"
#include "simulation/world.h"

namespace doclock::simulation {

/// A former primary that is cut off from the others with one of the processes, and goes on as
/// before. No majority ever has what it does, so it acknowledges nothing that asks for one; what it
/// did is lost when it meets the others again.
class Deposed final : public Primary {
 public:
  /// `unsure`: what no majority has of `former`.
  Deposed(int process, const Member& former, const std::deque<Change>& unsure, Member::Clock clock,
          DatabaseWatcher& watcher, Breakage breakage);

  void Execute(StoreOp& op) override;
  [[nodiscard]] Store& store() noexcept override { return *store_; }
  [[nodiscard]] Store& sure() noexcept override {
    return breakage_ == Breakage::kSearchesUnsure ? *store_ : *sure_;
  }

  /// The process whose requests it serves.
  [[nodiscard]] int process() const noexcept { return process_; }
  /// Its connections break when it meets the others again.
  void WhenOver(World::Task broken) { broken_.push_back(std::move(broken)); }
  [[nodiscard]] std::vector<World::Task> TakeBroken() noexcept { return std::move(broken_); }

 private:
  const int process_;
  const Breakage breakage_;
  DatabaseWatcher& watcher_;
  const std::shared_ptr<Member> member_;
  const std::shared_ptr<Store> store_;
  const std::shared_ptr<Member> sure_member_;
  const std::shared_ptr<Store> sure_;
  std::vector<World::Task> broken_;
};

}  // namespace doclock::simulation
