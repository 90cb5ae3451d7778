#include "mongodb/client/privileges.h"

#include <algorithm>
#include <array>

namespace doclock::mongodb {
namespace {

struct Need {
  std::string_view command, actions;
};

constexpr std::array kNeeds{
    Need{"findAndModify", "find and update, and insert where documents are to be made"},
    Need{"update", "update, and insert where documents are to be made"},
    Need{"insert", "insert"},
    Need{"delete", "remove"},
    Need{"find", "find"},
    Need{"aggregate", "find"},
    Need{"createIndexes", "createIndex"},
    Need{"dropIndexes", "dropIndex"},
};

}  // namespace

std::string MissingPrivilege(std::string_view command, const std::string& database,
                             std::string_view collection) {
  std::string text = "the user may not run the command " + std::string(command) + " on " + database;
  if (!collection.empty()) text += "." + std::string(collection);
  const auto* const need = std::find_if(kNeeds.begin(), kNeeds.end(),
                                        [&](const Need& n) { return n.command == command; });
  if (need != kNeeds.end()) text += "; it needs the privileges " + std::string(need->actions);
  return text;
}

}  // namespace doclock::mongodb
