#include "step.h"

#include <array>
#include <cstddef>

namespace doclock::conformance {

const char* Step::verb() const {
  static constexpr std::array<const char*, kKinds> kNames{"acquire",
                                                          "create",
                                                          "want",
                                                          "share",
                                                          "create shared",
                                                          "renew",
                                                          "renew share",
                                                          "release",
                                                          "release share",
                                                          "release with note",
                                                          "release by value",
                                                          "checkpoint",
                                                          "hand over",
                                                          "erase",
                                                          "insert",
                                                          "replace",
                                                          "save-erase",
                                                          "expire",
                                                          "break",
                                                          "steal",
                                                          "purge",
                                                          "advance",
                                                          "acquire for long",
                                                          "hand over for long",
                                                          "acquire nil",
                                                          "share again",
                                                          "next",
                                                          "insert nothing"};
  return kNames.at(static_cast<std::size_t>(kind));
}

void PrintTo(const Step& step, std::ostream* out) {
  *out << "{" << step.verb() << " key " << step.key << " who " << step.who << " number "
       << step.number << (step.stale ? " stale}" : "}");
}

int Attempts::Of(const Step& step) const {
  if (step.who + 1 >= Step::kMaxWho) return count_;
  const auto found = of_key_.find(step.key);
  if (found == of_key_.end()) return 0;
  const std::vector<int>& all = found->second;
  return all[all.size() - 1 - static_cast<std::size_t>(step.who) % all.size()];
}

}  // namespace doclock::conformance
