#include "lines.h"

#include <sstream>

namespace doclock::conformance {
namespace {

std::string NameOfHolder(int holder) {
  if (holder == kNobody) return "nobody";
  if (holder == kStranger) return "a stranger";
  return std::to_string(holder);
}

}  // namespace

std::string TextOf(const Picture& picture) {
  std::ostringstream text;
  text << "v" << picture.version << ", value " << picture.value;
  if (picture.holder == kShared) {
    text << ", shared by " << picture.shares.size() << ":";
    for (const auto& [holder, left] : picture.shares) text << " " << holder << " for " << left;
  } else {
    text << ", held by " << NameOfHolder(picture.holder);
  }
  if (picture.left > 0) text << ", live for " << picture.left;
  return text.str();
}

std::string GrantedText(bool created, bool took_over) {
  std::string text = kDone;
  if (created) text += ", created";
  if (took_over) text += ", took over";
  return text;
}

std::string NextText(int key, bool took_over) {
  return GrantedText(false, took_over) + ", key " + std::to_string(key);
}

std::string BusyText(int ticks) { return "busy for " + std::to_string(ticks); }

std::string LineOf(const Step& step, const std::string& said, const std::string& seen) {
  return std::string(step.verb()) + " " + std::to_string(step.key) + ": " + said + "; " + seen;
}

}  // namespace doclock::conformance
