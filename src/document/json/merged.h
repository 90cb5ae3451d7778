#pragma once

#include <nlohmann/json.hpp>

#include "doclock/document.h"

namespace doclock {

/// The stored body with these fields replaced. Numbers in them that are as stored keep their
/// digits. @throws DocumentException
inline Body Merged(const Body& stored, const Body& fields) {
  if (!stored) return fields;
  nlohmann::json tree = stored.json();
  tree.update(fields.json());
  return Body::FromJson(std::move(tree), stored);
}

}  // namespace doclock
