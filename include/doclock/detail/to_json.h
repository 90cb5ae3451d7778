#pragma once

#include <new>
#include <nlohmann/json.hpp>
#include <utility>

namespace doclock::detail {

/// Returns a value's JSON form. (The constructor of nlohmann::json leaks what was converted before
/// `to_json` threw, before version 3.11.3.) Out of memory, what was converted is leaked all the
/// same: a tree that could not allocate says that it is an object, and has none to destroy.
template <class T>
nlohmann::json ToJson(const T& value) {
  using Json = nlohmann::json;
  union Tree {
    Tree() noexcept : json() {}
    ~Tree() {}
    Json json;
  } tree;
  try {
    nlohmann::adl_serializer<T>::to_json(tree.json, value);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    tree.json.~Json();
    throw;
  }
  Json made = std::move(tree.json);
  tree.json.~Json();
  return made;
}

}  // namespace doclock::detail
