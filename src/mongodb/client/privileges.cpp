#include "mongodb/client/privileges.h"

#include <algorithm>
#include <array>

#include "mongodb/bson/bson.h"

namespace doclock::mongodb {
namespace {

struct Need {
  std::string_view command, actions;
};

constexpr std::array kNeeds{
    Need{"findAndModify", "find and update, and insert where documents are to be made"},
    Need{"update", "update and insert"},
    Need{"insert", "insert"},
    Need{"delete", "remove"},
    Need{"find", "find"},
    Need{"aggregate", "find"},
    Need{"count", "find"},
    Need{"listCollections", "listCollections"},
    Need{"listIndexes", "listIndexes"},
    Need{"dbStats", "dbStats"},
    Need{"createIndexes", "createIndex"},
};

/// What locks and documents need. Indexes are an operator's.
constexpr std::array<std::string_view, 4> kActions{"find", "insert", "update", "remove"};

bool IsAbout(const bson_t& resource, const std::string& database, const std::string& collection) {
  bson_iter_t any;
  if (FindField(resource, "anyResource", any)) return bson_iter_as_bool(&any);
  if (!FindField(resource, "db", any)) return false;
  const std::string db = TextAt(resource, "db"), name = TextAt(resource, "collection");
  return (db.empty() || db == database) && (name.empty() || name == collection);
}

bool HasAction(const bson_t& privilege, std::string_view action) {
  bool has = false;
  ForEachItem(privilege, "actions", [&](const bson_iter_t& item) {
    const std::string_view is = BSON_ITER_HOLDS_UTF8(&item) ? bson_iter_utf8(&item, nullptr) : "";
    has = is == action || is == "anyAction";
    return !has;
  });
  return has;
}

bool MayDo(const bson_t& auth, std::string_view action, const std::string& database,
           const std::string& collection) {
  bool may = false;
  ForEachItem(auth, "authenticatedUserPrivileges", [&](const bson_iter_t& item) {
    bson_t privilege, resource;
    may = DocumentAt(item, privilege) && FindDocument(privilege, "resource", resource) &&
          IsAbout(resource, database, collection) && HasAction(privilege, action);
    return !may;
  });
  return may;
}

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

std::string MissingActions(const bson_t& auth, const std::string& database,
                           const std::string& collection) {
  std::string missing;
  for (const std::string_view action : kActions) {
    if (MayDo(auth, action, database, collection)) continue;
    missing += (missing.empty() ? "" : ", ") + std::string(action);
  }
  return missing;
}

bool HasUser(const bson_t& auth) { return CountIn(auth, "authenticatedUsers") > 0; }

}  // namespace doclock::mongodb
