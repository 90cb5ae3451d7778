#include "sqlite/tables/names.h"

namespace doclock::sqlite {

std::string Quoted(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string CaseSafe(std::string_view name) {
  std::string safe;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper || c == '^') safe += '^';
    safe += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return safe;
}

std::string OriginalCase(std::string_view safe) {
  std::string name;
  for (std::size_t i = 0; i < safe.size(); ++i) {
    char c = safe[i];
    if (c == '^' && i + 1 < safe.size()) {
      c = safe[++i];
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    name += c;
  }
  return name;
}

}  // namespace doclock::sqlite
