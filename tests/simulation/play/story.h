#pragma once

#include <string>
#include <vector>

#include "simulation/world.h"

namespace doclock::simulation {

/// What happened, for people: one line per event. Kept only if it is wanted.
class Story {
 public:
  explicit Story(World& world, bool told) : world_(world), told_(told) {}

  [[nodiscard]] bool told() const noexcept { return told_; }
  void Tell(const std::string& line) {
    if (told_) lines_.push_back(TextOf(world_.now()) + "  " + line);
  }
  [[nodiscard]] const std::vector<std::string>& lines() const noexcept { return lines_; }

  /// "  12.345678 s"
  static std::string TextOf(Time time);

 private:
  World& world_;
  const bool told_;
  std::vector<std::string> lines_;
};

}  // namespace doclock::simulation
