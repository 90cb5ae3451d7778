#include "simulation/database/deposed.h"

#include <utility>

namespace doclock::simulation {

Deposed::Deposed(int process, const Member& former, const std::deque<Change>& unsure,
                 Member::Clock clock, DatabaseWatcher& watcher, Breakage breakage)
    : process_(process),
      breakage_(breakage),
      watcher_(watcher),
      member_(std::make_shared<Member>(clock,
                                       [this](const std::vector<Change>& changes) {
                                         for (const Change& change : changes) {
                                           member_->Put(change, change.after);
                                           watcher_.OnFutile(change);
                                         }
                                       })),
      store_(StoreOver(member_)),
      sure_member_(std::make_shared<Member>(clock, [](const std::vector<Change>&) {})),
      sure_(StoreOver(sure_member_)) {
  member_->CopyFrom(former);
  sure_member_->CopyFrom(former);
  for (auto change = unsure.rbegin(); change != unsure.rend(); ++change) {
    sure_member_->Put(*change, change->before);
  }
}

void Deposed::Execute(StoreOp& op) {
  StoreOp* const one[] = {&op};
  store_->Execute(one, kBudget);
}

}  // namespace doclock::simulation
