#include "simulation/play/shrink.h"

#include <algorithm>
#include <utility>

namespace doclock::simulation {
namespace {

class Shrinker {
 public:
  Shrinker(Plan plan, const std::function<bool(const Plan&)>& fails, int most)
      : plan_(std::move(plan)), fails_(fails), left_(most) {}

  Plan Run() {
    for (bool smaller = true; smaller && left_ > 0;) {
      smaller = Reduce(&Plan::faults);
      smaller = Reduce(&Plan::operations) || smaller;
    }
    return std::move(plan_);
  }

 private:
  /// Leaves out pieces of one list: halves, quarters, and so on to single ones.
  template <class List>
  bool Reduce(List Plan::*list) {
    bool reduced = false;
    for (std::size_t piece = (plan_.*list).size(); piece > 0; piece /= 2) {
      for (std::size_t at = 0; at < (plan_.*list).size() && left_ > 0;) {
        Plan smaller = plan_;
        auto& items = smaller.*list;
        const auto begin = items.begin() + static_cast<std::ptrdiff_t>(at);
        items.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(piece, items.size() - at)));
        --left_;
        if (fails_(smaller)) {
          plan_ = std::move(smaller);
          reduced = true;
        } else {
          at += piece;
        }
      }
    }
    return reduced;
  }

  Plan plan_;
  const std::function<bool(const Plan&)>& fails_;
  int left_;
};

}  // namespace

Plan Shrink(Plan plan, const std::function<bool(const Plan&)>& fails, int most) {
  return Shrinker(std::move(plan), fails, most).Run();
}

}  // namespace doclock::simulation
