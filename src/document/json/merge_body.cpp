#include <algorithm>
#include <nlohmann/json.hpp>

#include "doclock/detail/engine.h"

namespace doclock::detail {
namespace {

bool Contains(const std::vector<std::string>& sorted, const std::string& name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

void AddForeign(const nlohmann::json::object_t& base, const std::vector<std::string>& own,
                nlohmann::json::object_t& fresh) {
  for (const auto& [name, value] : base) {
    if (!Contains(own, name)) fresh.try_emplace(name, value);
  }
}

}  // namespace

nlohmann::json MergeBody(const Body& base, const std::vector<std::string>& own,
                         nlohmann::json fresh) {
  auto* into = fresh.get_ptr<nlohmann::json::object_t*>();
  if (!base || into == nullptr) return fresh;  // CheckBody will say so if it is no object
  const auto& from = *base.json().get_ptr<const nlohmann::json::object_t*>();
  if (std::is_sorted(own.begin(), own.end())) {  // names taken from a JSON object are
    AddForeign(from, own, *into);
  } else {
    auto sorted = own;
    std::sort(sorted.begin(), sorted.end());
    AddForeign(from, sorted, *into);
  }
  return fresh;
}

}  // namespace doclock::detail
