#include "mongodb/admin/admin.h"

#include <vector>

#include "document/collection.h"
#include "mongodb/admin/collection_rules.h"
#include "mongodb/unit/operations.h"

namespace doclock::mongodb {
namespace {

constexpr std::chrono::seconds kAdminBudget{10};
/// More than one answer holds.
constexpr std::int64_t kMostCollections = 1'000'000;

/// As in the name of an index, where commas of the fields' own must not look like those between.
std::string EscapedFieldList(const IndexSpec& index) {
  std::string list;
  for (const std::string& field : index.fields) {
    if (!list.empty()) list += ',';
    for (const char c : field) {
      if (c == ',' || c == '\\') list += '\\';
      list += c;
    }
  }
  return list;
}

Doc NamedIndex(const Doc& keys, const std::string& name) {
  Doc spec;
  spec.Add("key", keys).Add("name", std::string_view(name));
  return spec;
}

/// Held locks only: a document without a holder costs nothing.
Doc LockIndex(const Collection& collection) {
  const std::string& id = collection.fields().id;
  Doc keys = Doc::Of(id, 1);
  Doc spec = NamedIndex(keys.Add("_id", 1), "doclock_held");
  spec.Add("partialFilterExpression", Doc::Of(id, Doc::Of("$type", "binData")));
  return spec;
}

/// A document without one of the fields, or with null there, repeats nothing, as in the other
/// stores. A partial filter knows no negation.
Doc UniqueIndex(const IndexSpec& index) {
  const Doc types = TypeOtherThan({BSON_TYPE_NULL, BSON_TYPE_UNDEFINED, BSON_TYPE_DBPOINTER,
                                   BSON_TYPE_SYMBOL, BSON_TYPE_CODEWSCOPE});
  Doc keys, complete;
  for (const std::string& field : index.fields) {
    keys.Add(field, 1);
    complete.Add(field, types);
  }
  Doc spec = NamedIndex(keys, "doclock_" + EscapedFieldList(index) + "_unique");
  spec.Add("unique", true).Add("partialFilterExpression", complete);
  return spec;
}

/// Ties go by key, upwards: without `_id` in it an index would not spare the sorting.
Doc SearchIndex(const IndexSpec& index) {
  Doc keys;
  for (std::size_t i = 0; i < index.fields.size(); ++i) {
    const bool last = i + 1 == index.fields.size();
    keys.Add(index.fields[i], last && index.descending ? -1 : 1);
  }
  keys.Add("_id", 1);
  return NamedIndex(keys,
                    "doclock_" + EscapedFieldList(index) + (index.descending ? "_down" : "_up"));
}

/// "a: 1, b: -1" of { a: 1, b: -1.0 }, whatever kind of number the shells and drivers write.
std::string Directions(const bson_t& index) {
  std::string text;
  bson_t keys;
  bson_iter_t key;
  if (!FindDocument(index, "key", keys) || !bson_iter_init(&key, &keys)) return text;
  while (bson_iter_next(&key)) {
    if (!text.empty()) text += ", ";
    text += std::string(bson_iter_key(&key)) + ": " + std::to_string(bson_iter_as_int64(&key));
  }
  return text;
}

/// Whether an index that is there, under any name, does the work of the wanted one.
bool Serves(const bson_t& index, const bson_t& wanted) {
  bson_t partial, wanted_partial;
  const bool is_partial = FindDocument(index, "partialFilterExpression", partial);
  if (is_partial != FindDocument(wanted, "partialFilterExpression", wanted_partial)) return false;
  return Directions(index) == Directions(wanted) &&
         FlagAt(index, "unique") == FlagAt(wanted, "unique") &&
         (!is_partial || bson_equal(&partial, &wanted_partial)) && !FlagAt(index, "sparse") &&
         !FlagAt(index, "hidden") && !bson_has_field(&index, "collation");
}

/// Finds what stands in the way of an index. Returns whether that serves as well; else adds to
/// `reply` what it is.
bool FindConflicting(Server& server, const Collection& collection, const bson_t& wanted,
                     Reply& reply) {
  Reply list;
  Doc command = IndexesOf(collection.name());
  Operations(server, kAdminBudget).Read(command, list);
  Check(list);
  bool serves = false;
  list.ForEachInBatch([&](const bson_t& index) {
    serves = Serves(index, wanted);
    if (TextAt(index, "name") == TextAt(wanted, "name") ||
        Directions(index) == Directions(wanted)) {
      reply.text +=
          ": there is another index " + TextAt(index, "name") + " over " + Directions(index);
    }
    return !serves;
  });
  return serves;
}

/// Asks the server to make an index, and waits for 10 s at most.
void CreateIndex(Server& server, const Collection& collection, const Doc& spec, Reply& reply) {
  Doc command;
  command.Add("createIndexes", std::string_view(collection.name()));
  command.Add("indexes", Array().Add(spec));
  Operations(server, kAdminBudget).Write(command, reply);
}

/// Has it refused one because another index has the same fields or name?
bool IsIndexConflict(const Reply& reply) noexcept {
  // Codes of the server's error_codes.yml.
  constexpr int kIndexOptionsConflict = 85, kIndexKeySpecsConflict = 86;
  return reply.code == kIndexOptionsConflict || reply.code == kIndexKeySpecsConflict;
}

/// The index that the library of the collection makes.
void EnsureTheirIndex(Server& server, const Collection& collection) {
  const Doc index = LayoutOf(collection)->Index();
  if (index.empty()) RefuseFeature(collection, "indexes");
  Reply reply;
  CreateIndex(server, collection, index, reply);
  if (reply.is_duplicate()) {
    bson_t lock;  // servers before 4.4 do not tell it
    const bool told = FindDocument(reply.doc(), "keyValue", lock);
    const std::string name = told ? TextAt(lock, LayoutOf(collection)->key_field()) : "";
    throw StoreException(Errc::kRefused, "doclock: MongoDB: the collection " + collection.name() +
                                             " has two documents of one lock" +
                                             (name.empty() ? "" : ", '" + name + "'"));
  }
  // The other library goes on with an index that is a little different.
  constexpr int kIndexAlreadyExists = 68;
  const bool exists = reply.code == kIndexAlreadyExists || IsIndexConflict(reply);
  if (!exists || !HasIndex(server, collection, index, true)) Check(reply);
}

}  // namespace

std::vector<std::string> ListCollections(Server& server, std::chrono::milliseconds budget) {
  Doc command = Doc::Of("listCollections", 1);
  command.Add("nameOnly", true).Add("authorizedCollections", true);
  command.Add("filter", Doc::Of("type", "collection"));
  command.Add("cursor", Doc::Of("batchSize", kMostCollections));
  Reply reply;
  Operations(server, budget).Read(command, reply);
  Check(reply);
  std::vector<std::string> names;
  reply.ForEachInBatch([&](const bson_t& doc) {
    bson_iter_t name;
    if (!FindField(doc, "name", name) || !BSON_ITER_HOLDS_UTF8(&name)) return true;
    const std::string text = bson_iter_utf8(&name, nullptr);
    if (!text.starts_with("system.")) names.push_back(text);
    return true;
  });
  return names;
}

void EnsureIndex(Server& server, const Collection& collection, const IndexSpec& wanted) {
  if (LayoutOf(collection) != nullptr) {
    if (!wanted.held_locks) RefuseFeature(collection, "indexes over bodies");
    return EnsureTheirIndex(server, collection);
  }
  const IndexSpec index = wanted.held_locks ? wanted : WithoutKey(wanted);
  if (!index.held_locks && index.fields.empty()) return;  // every collection has that of `_id`
  const Doc spec = index.held_locks ? LockIndex(collection)
                   : index.unique   ? UniqueIndex(index)
                                    : SearchIndex(index);
  Reply reply;
  CreateIndex(server, collection, spec, reply);
  if (reply.is_duplicate()) ThrowRepeatedValues(index.fields);
  if (IsIndexConflict(reply) && FindConflicting(server, collection, *spec.get(), reply)) return;
  Check(reply);
}

}  // namespace doclock::mongodb
