#include "mongodb/admin/collection_rules.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

namespace doclock::mongodb {
namespace {

/// How many documents are looked at.
constexpr std::int64_t kSample = 100;

constexpr const char* kAdvice =
    "give each a collection of its own, or name the layout of theirs if doclock knows it "
    "(MongodbStoreOptions::layouts)";

struct System {
  std::string_view name;
  std::array<std::string_view, 4> fields;  ///< All its documents have these; some may be empty.
};

constexpr std::array kSystems{
    System{"DistributedLock.MongoDB", {"lockId", "acquiredAt", "expiresAt", "fencingToken"}},
    System{"square/mongo-lock", {"resource", "exclusive", "shared"}},
    System{"com.mongodb.pessimistic", {"ownerId", "ttlMs", "expiresAt"}},
    System{"MongoLocks or OpenSleigh", {"LockId", "LockTime"}}};

/// Whose documents no layout has.
constexpr std::array kWithoutLayout{
    System{"doclock without a layout", {"lockVersion", "lockBorn"}},
    System{"OpenSleigh", {"CorrelationId", "Type", "Data", "LockId"}}};

/// The TTL index of DistributedLock.MongoDB.
constexpr const char* kTtlIndex = "expiresAt_ttl";
constexpr const char* kTtlField = "expiresAt";

/// Are the documents of this system those of the collection?
bool IsOwn(const System& system, const Collection& collection, std::string_view library) {
  if (!library.empty()) return system.name.starts_with(library);
  const auto has = [&](const std::string& name) {
    return std::find(system.fields.begin(), system.fields.end(), name) != system.fields.end();
  };
  return has(collection.fields().id) && has(collection.fields().time);
}

/// Matches the documents of these systems.
Array DocumentsOf(std::span<const System> systems) {
  Array any;
  for (const System& system : systems) {
    Doc all;
    for (const std::string_view field : system.fields) {
      if (!field.empty()) all.Add(field, Doc::Of("$exists", true));
    }
    any.Add(all);
  }
  return any;
}

bool IsOf(const System& system, const bson_t& doc) {
  return std::all_of(system.fields.begin(), system.fields.end(), [&](std::string_view name) {
    return name.empty() || bson_has_field(&doc, name.data());
  });
}

/// @param sign what tells that these locks may be there, the library's name last
Finding Found(const std::string& sign, std::string_view library, const std::string& advice) {
  const std::string text = library.empty()
                               ? ", which would not see those of doclock"
                               : ", and was given the layout of " + std::string(library) +
                                     ": neither would see the locks of the other";
  return {"collection", FindingLevel::kProblem, sign + text, advice};
}

}  // namespace

Doc ForeignLocksIn(const Collection& collection, std::string_view library) {
  std::vector<System> own, others;
  for (const System& system : kSystems) {
    (IsOwn(system, collection, library) ? own : others).push_back(system);
  }
  Doc theirs;
  theirs.Add("$or", DocumentsOf(others));
  // What the body of such a document is called like is its own matter.
  if (!own.empty()) theirs.Add("$nor", DocumentsOf(own));
  Array any = library.empty() ? Array() : DocumentsOf(kWithoutLayout);
  Array stages;
  stages.Add(Doc::Of("$limit", kSample)).Add(Doc::Of("$match", Doc::Of("$or", any.Add(theirs))));
  stages.Add(Doc::Of("$limit", 1));
  Doc command = Doc::Of("aggregate", std::string_view(collection.name()));
  command.Add("pipeline", stages).Add("cursor", Doc());
  return command;
}

std::vector<Finding> JudgeForeignLocks(const Reply& shown, const Collection& collection,
                                       std::string_view library) {
  std::vector<Finding> found;
  const auto judge = [&](const System& system, const bson_t& doc) {
    if (!found.empty() || !IsOf(system, doc) || IsOwn(system, collection, library)) return;
    found.push_back(Found("holds locks of " + std::string(system.name), library, kAdvice));
  };
  shown.ForEachInBatch([&](const bson_t& doc) {
    if (!library.empty()) {
      for (const System& system : kWithoutLayout) judge(system, doc);
    }
    for (const System& system : kSystems) judge(system, doc);
    return found.empty();
  });
  return found;
}

std::vector<Finding> JudgeForeignIndexes(const Reply& list, std::string_view library) {
  const std::string dotnet(kSystems.front().name);
  std::vector<Finding> found;
  if (dotnet == library) return found;
  list.ForEachInBatch([&](const bson_t& index) {
    if (TextAt(index, "name") == kTtlIndex && ExpiryField(index) == kTtlField) {
      found.push_back(Found(
          "has the TTL index expiresAt_ttl over expiresAt, which is that of " + dotnet, library,
          std::string("if the index is your own, drop it, and make it anew under another "
                      "name; if it is theirs, ") +
              kAdvice));
    }
    return found.empty();
  });
  return found;
}

}  // namespace doclock::mongodb
