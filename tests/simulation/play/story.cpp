#include "simulation/play/story.h"

#include <cstdio>

namespace doclock::simulation {

std::string Story::TextOf(Time time) {
  char text[32];
  std::snprintf(text, sizeof text, "%11.6f s", std::chrono::duration<double>(time).count());
  return text;
}

}  // namespace doclock::simulation
