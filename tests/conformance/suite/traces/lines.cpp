#include "lines.h"

#include <sstream>

namespace doclock::conformance {
namespace {

std::string NameOfHolder(int holder) {
  if (holder == kNobody) return "nobody";
  if (holder == kStranger) return "a stranger";
  return std::to_string(holder);
}

std::string VersionText(std::int64_t version) { return "v" + std::to_string(version); }

}  // namespace

std::string TextOf(const Picture& picture) {
  std::ostringstream text;
  text << VersionText(picture.version) << ", " << picture.body.dump();
  if (picture.holder == kShared) {
    text << ", shared by " << picture.shares.size() << ":";
    for (const auto& [holder, left] : picture.shares) text << " " << holder << " for " << left;
  } else {
    text << ", held by " << NameOfHolder(picture.holder);
  }
  if (picture.left > 0) text << ", live for " << picture.left;
  return text.str();
}

std::string TextOf(const Granted& granted) {
  std::string text = WrittenText(granted.version);
  if (granted.created) text += ", created";
  if (granted.took_over) text += ", took over";
  return text + ", " + granted.body.dump();
}

std::string TextOf(const Listed& listed) {
  std::string text = "live: " + std::to_string(listed.live);
  if (listed.closed) text += ", closed";
  return text + (listed.has_body ? ", has a body" : ", has no body");
}

std::string NextText(int key, const Granted& granted) {
  return "key " + std::to_string(key) + ": " + TextOf(granted);
}

std::string RowText(std::int64_t version, bool locked, const Json& body) {
  return VersionText(version) + (locked ? ", locked, " : ", ") + body.dump();
}

std::string WrittenText(std::int64_t version) {
  return std::string(kDone) + ", " + VersionText(version);
}

std::string BusyText(int ticks) { return "busy for " + std::to_string(ticks); }

std::string ConflictText(const std::string& index) {
  return std::string(kConflict) + " over " + index;
}

std::string PartText(const Step& part, const std::string& said) {
  return std::string(part.verb()) + " " + std::to_string(part.key) + ": " + said;
}

std::string LineOf(const Step& step, const std::string& said, const std::string& seen) {
  return PartText(step, said) + "; " + seen;
}

std::string Joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : ", ") + line;
  return text;
}

}  // namespace doclock::conformance
