/// Converts between T's JSON form and the stored body.

#include <algorithm>
#include <stdexcept>

#include "doclock/detail/facade.h"
#include "doclock/json/uuid.h"
#include "engine/calls/failure.h"
#include "engine/engine.h"

namespace doclock::detail {
namespace {

bool IsDeeperThan(int levels, const nlohmann::json& tree) {
  if (!tree.is_structured()) return false;
  return levels == 0 || std::any_of(tree.begin(), tree.end(), [&](const nlohmann::json& member) {
           return IsDeeperThan(levels - 1, member);
         });
}

[[noreturn]] void RefuseBody(const Collection& collection, const Key& key, const std::string& why) {
  throw DocumentException(Describe(collection, key) + ": " + why, NameOf(collection, key));
}

}  // namespace

void CheckDepth(const Collection& collection, const Key& key, const nlohmann::json& tree) {
  if (!IsDeeperThan(kMaxBodyDepth, tree)) return;
  RefuseBody(collection, key,
             "the body cannot be stored: it is nested deeper than " +
                 std::to_string(kMaxBodyDepth) + " levels");
}

Body Seal(const Collection& collection, const Key& key, nlohmann::json tree, const Body& base) {
  return Seal(collection, key, Body::FromJson(std::move(tree), base), base);
}

Body Seal(const Collection& collection, const Key& key, Body body, const Body& base) {
  try {
    CheckBody(body, collection.fields(), base);
  } catch (const DocumentException& error) {
    RefuseBody(collection, key, error.what());
  }
  return body;
}

const nlohmann::json& TreeOf(const Body& body) {
  // Never destroyed: locks may be released while the process ends.
  static const auto& none = *new nlohmann::json(nlohmann::json::object());
  return body ? body.json() : none;
}

nlohmann::json KeyToJson(const Key& key) {
  if (const auto* text = std::get_if<std::string>(&key.value())) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&key.value())) return *number;
  if (const auto* id = std::get_if<ObjectId>(&key.value())) return ToExtendedJson(*id);
  return key.ToString();
}

void PutKey(nlohmann::json& tree, std::string_view field, nlohmann::json key) {
  if (tree.is_object()) tree[std::string(field)] = std::move(key);
}

void TakeKey(nlohmann::json& tree, std::string_view field, const nlohmann::json& key) {
  if (!tree.is_object()) return;  // CheckBody says so
  const auto found = tree.find(field);
  if (found == tree.end()) return;
  if (*found != key) {
    throw std::invalid_argument("the field '" + std::string(field) +
                                "' of the entity is not the document's key (see "
                                "doclock::EntityTraits, kKeyField and KeyToJson)");
  }
  tree.erase(found);
}

void CheckSameKey(const Key& given, const Key& of_entity) {
  if (given == of_entity) return;
  throw std::invalid_argument("doclock: the key '" + given.ToString() +
                              "' is not the entity's, which is '" + of_entity.ToString() + "'");
}

void ThrowEmptyHandle() {
  throw std::logic_error("doclock: the handle is empty, or gave up its lock already");
}

void ThrowUnsettled() {
  throw std::logic_error(
      "doclock: the commit of a transaction with this handle was refused: storing its entity alone "
      "could store half of the transaction. Commit again, or Revert() or Discard() the handle");
}

}  // namespace doclock::detail
