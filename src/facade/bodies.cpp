/// Converts between T's JSON form and the stored body.

#include <algorithm>
#include <exception>
#include <new>
#include <stdexcept>

#include "doclock/detail/facade.h"
#include "doclock/json/value_error.h"
#include "doclock/uuid_json.h"
#include "engine/engine.h"

namespace doclock::detail {
namespace {

/// Appends the names that lead to the value at this address. False: it is not in the tree.
bool FindValue(const nlohmann::json& tree, const void* value, std::string& path) {
  if (&tree == value) return true;
  if (!tree.is_structured()) return false;
  for (const auto& item : tree.items()) {
    const std::size_t length = path.size();
    path += (path.empty() ? "" : ".") + item.key();
    if (FindValue(item.value(), value, path)) return true;
    path.resize(length);
  }
  return false;
}

std::string TextOf(const JsonValueError& error, const nlohmann::json* tree) {
  std::string path;
  if (tree == nullptr || !FindValue(*tree, error.value(), path) || path.empty()) {
    return error.what();
  }
  return "the member '" + path + "': " + error.what();
}

/// The text of one caught exception, without the body that it may quote.
std::string TextOfCaught(const nlohmann::json* tree) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const JsonValueError& error) {
    return TextOf(error, tree);
  } catch (const Error& error) {
    return error.what();
  } catch (const nlohmann::json::exception& error) {
    return error.what();
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of an unknown type";
  }
}

bool IsDeeperThan(int levels, const nlohmann::json& tree) {
  if (!tree.is_structured()) return false;
  return levels == 0 || std::any_of(tree.begin(), tree.end(), [&](const nlohmann::json& member) {
           return IsDeeperThan(levels - 1, member);
         });
}

}  // namespace

void CheckDepth(const Collection& collection, const Key& key, const nlohmann::json& tree) {
  if (!IsDeeperThan(kMaxBodyDepth, tree)) return;
  throw DocumentException(Describe(collection, key) +
                          ": the body cannot be stored: it is nested deeper than " +
                          std::to_string(kMaxBodyDepth) + " levels");
}

Body Seal(const Collection& collection, const Key& key, nlohmann::json tree) {
  try {
    CheckBody(tree, collection.fields());
  } catch (const DocumentException& error) {
    throw DocumentException(Describe(collection, key) + ": " + error.what());
  }
  return Body::FromJson(std::move(tree));
}

const nlohmann::json& TreeOf(const Body& body) {
  static const nlohmann::json kNone = nlohmann::json::object();
  return body ? body.json() : kNone;
}

bool HasOtherNames(const Body& base, const nlohmann::json& fresh) {
  if (!base || !fresh.is_object()) return false;
  const auto& stored = *base.json().get_ptr<const nlohmann::json::object_t*>();
  const auto& now = *fresh.get_ptr<const nlohmann::json::object_t*>();
  return !std::includes(now.begin(), now.end(), stored.begin(), stored.end(),
                        [](const auto& a, const auto& b) { return a.first < b.first; });
}

std::vector<std::string> OwnNames(const nlohmann::json& stored, const nlohmann::json& upgraded,
                                  const nlohmann::json& written) {
  std::vector<std::string> names;
  for (const auto& item : stored.items()) {
    if (!upgraded.contains(item.key()) || written.contains(item.key())) names.push_back(item.key());
  }
  return names;
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
  throw std::invalid_argument("the key '" + given.ToString() + "' is not the entity's, which is '" +
                              of_entity.ToString() + "'");
}

void ThrowUnreadable(const Collection& collection, const Key& key, const nlohmann::json* tree) {
  throw DocumentException(Describe(collection, key) + " cannot be read: " + TextOfCaught(tree),
                          key);
}

void ThrowEmptyHandle() {
  throw std::logic_error("doclock: the handle is empty, or gave up its lock already");
}

}  // namespace doclock::detail
