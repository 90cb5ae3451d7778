#include "mongodb/admin/collection_rules.h"

#include <algorithm>
#include <string_view>

#include "mongodb/bson/body_codec.h"

namespace doclock::mongodb {
namespace {

constexpr const char* kDrop = "drop this index";
constexpr const char* kAnotherOne = "use another collection for documents that are locked";

/// Does a path as "lockQueue.until" lead into a field of the lock?
bool IsOfLock(std::string_view path, const LockFieldNames& names) {
  const std::string_view top = path.substr(0, path.find('.'));
  const auto fields = LockFields(names);
  return std::any_of(fields.begin(), fields.end(),
                     [&](const auto* field) { return *field == top; });
}

void Problem(std::vector<Finding>& found, std::string text, std::string advice = kAnotherOne) {
  found.push_back({"collection", FindingLevel::kProblem, std::move(text), std::move(advice)});
}

/// "locale en, strength 2".
std::string CollationText(const bson_t& collation) {
  bson_iter_t strength;
  std::string text = "locale " + TextAt(collation, "locale");
  if (bson_iter_init_find(&strength, &collation, "strength")) {
    text += ", strength " + std::to_string(bson_iter_as_int64(&strength));
  }
  return text;
}

void JudgeCollation(const bson_t& with, std::vector<Finding>& found) {
  bson_t collation;
  if (!FindDocument(with, "collation", collation)) return;
  Problem(found, "has a default collation (" + CollationText(collation) +
                     "): keys that differ would be one document");
}

/// What the server itself would do to locks there, whatever their fields are.
void JudgePlaceListed(const bson_t& listed, std::vector<Finding>& found) {
  const std::string type = TextAt(listed, "type");
  if (type == "view") return Problem(found, "is a view: it holds no documents of its own");
  if (type == "timeseries") {
    return Problem(found, "is a time series: the server lets no one change its documents singly");
  }
  bson_t options;
  if (!FindDocument(listed, "options", options)) return;
  JudgeCollation(options, found);
  if (FlagAt(options, "capped")) {
    Problem(found, "is capped: the server deletes the oldest documents, and their locks with them");
  }
  if (bson_has_field(&options, "expireAfterSeconds")) {
    Problem(found,
            "has expireAfterSeconds: the server deletes documents by their age, and their "
            "locks with them");
  }
}

void JudgeListed(const bson_t& listed, const LockFieldNames& fields, std::vector<Finding>& found) {
  JudgePlaceListed(listed, found);
  bson_t options, part;
  if (!FindDocument(listed, "options", options)) return;
  if (FindDocument(options, "encryptedFields", part)) {
    ForEachItem(part, "fields", [&](const bson_iter_t& item) {
      bson_t field;
      const std::string path = DocumentAt(item, field) ? TextAt(field, "path") : "";
      if (!path.empty() && (path == "_id" || IsOfLock(path, fields))) {
        Problem(found, "encrypts " + path + ", which the server has to read");
      }
      return true;
    });
  }
}

void JudgeIndex(const bson_t& index, const LockFieldNames& fields, std::vector<Finding>& found) {
  const std::string name = TextAt(index, "name");
  bson_t keys;
  bson_iter_t key;
  if (name == "_id_") JudgeCollation(index, found);
  if (!FindDocument(index, "key", keys) || !bson_iter_init(&key, &keys)) return;
  const bool unique = FlagAt(index, "unique") || FlagAt(index, "prepareUnique");
  // With the key among its fields no two documents repeat the others.
  const bool repeats = unique && !bson_has_field(&keys, "_id");
  while (bson_iter_next(&key)) {
    const std::string path = bson_iter_key(&key);
    const bool of_lock = IsOfLock(path, fields);
    if (of_lock && repeats) {
      Problem(found,
              "has the unique index " + name + " over " + path +
                  ", a field of the lock, which may be equal in many documents",
              kDrop);
    }
    if (!bson_has_field(&index, "expireAfterSeconds")) continue;
    const std::string ttl = "has the TTL index " + name + " over " + path;
    if (of_lock) {
      Problem(found, ttl + ": the server would delete documents, and their fences with them",
              "drop this index; Purge() clears what expired locks left");
    } else {
      found.push_back({"collection", FindingLevel::kWarning,
                       ttl + ": a document that the server deletes takes its lock with it",
                       "let the time of deletion lie behind the end of every lock"});
    }
  }
}

/// "a, b".
std::string FieldsOf(const bson_t& index) {
  std::string list;
  bson_t keys;
  bson_iter_t key;
  if (!FindDocument(index, "key", keys) || !bson_iter_init(&key, &keys)) return list;
  while (bson_iter_next(&key)) AddName(list, bson_iter_key(&key));
  return list;
}

/// Why an index over one field does not keep it unique; null: it does.
const char* FaultOfUnique(const bson_t& index) {
  return !FlagAt(index, "unique")                            ? " that is not unique"
         : bson_has_field(&index, "partialFilterExpression") ? " that is partial"
         : bson_has_field(&index, "collation")               ? " that has a collation"
                                                             : nullptr;
}

}  // namespace

Doc OptionsOf(const std::string& collection) {
  Doc command = Doc::Of("listCollections", 1);
  command.Add("filter", Doc::Of("name", std::string_view(collection)));
  return command;
}

Doc IndexesOf(const std::string& collection) {
  return Doc::Of("listIndexes", std::string_view(collection));
}

std::vector<Finding> JudgeOptions(const Reply& options, const LockFieldNames& fields) {
  std::vector<Finding> found;
  options.ForEachInBatch([&](const bson_t& listed) {
    JudgeListed(listed, fields, found);
    return true;
  });
  return found;
}

std::vector<Finding> JudgeIndexes(const Reply& list, const LockFieldNames& fields) {
  std::vector<Finding> found = JudgeForeignIndexes(list, {});
  list.ForEachInBatch([&](const bson_t& index) {
    JudgeIndex(index, fields, found);
    return true;
  });
  return found;
}

std::vector<Finding> JudgePlace(const Reply& options) {
  std::vector<Finding> found;
  options.ForEachInBatch([&](const bson_t& listed) {
    JudgePlaceListed(listed, found);
    return true;
  });
  return found;
}

std::string ExpiryField(const bson_t& index) {
  bson_t keys;
  bson_iter_t key;
  const bool expires = bson_has_field(&index, "expireAfterSeconds") &&
                       FindDocument(index, "key", keys) && bson_iter_init(&key, &keys) &&
                       bson_iter_next(&key);
  return expires ? bson_iter_key(&key) : "";
}

std::vector<Finding> JudgePlaceIndexes(const Reply& list, const Doc& index,
                                       std::string_view library) {
  std::vector<Finding> found = JudgeForeignIndexes(list, library);
  const std::string field = ExpiryField(*index.get());
  list.ForEachInBatch([&](const bson_t& one) {
    const std::string path = ExpiryField(one);
    if (!path.empty() && path != field) {
      Problem(found,
              "has the TTL index " + TextAt(one, "name") + " over " + path +
                  (field.empty() ? "" : " and not over " + field) +
                  ": the server would delete documents whose locks are held",
              kDrop);
    }
    return true;
  });
  return found;
}

bool HasIndexLike(const Doc& index, const Reply& list, std::vector<Finding>& found) {
  const std::string name = TextAt(*index.get(), "name"), fields = FieldsOf(*index.get());
  const bool unique = FlagAt(*index.get(), "unique");
  bool has = false;
  std::vector<Finding> wrong;
  list.ForEachInBatch([&](const bson_t& one) {
    const std::string over = FieldsOf(one);
    const bool same = over == fields;
    if (!same && TextAt(one, "name") != name) return true;
    const char* const fault = !same ? "" : unique ? FaultOfUnique(one) : nullptr;
    has = fault == nullptr;
    if (has) return false;
    Problem(wrong,
            "has the index " + TextAt(one, "name") + " over " + over + fault + " in place of " +
                (unique ? "a unique one" : "one") + " over " + fields,
            same ? kDrop : "drop this index, or make it anew under another name");
    return true;
  });
  if (!has) found.insert(found.end(), wrong.begin(), wrong.end());
  return has;
}

bool HasIndex(const Reply& list, std::string_view name) {
  bool has = false;
  list.ForEachInBatch([&](const bson_t& index) {
    has = TextAt(index, "name") == name;
    return !has;
  });
  return has;
}

}  // namespace doclock::mongodb
