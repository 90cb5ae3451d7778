#include "cli/json/lock_fields_text.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cli/json/input.h"
#include "cli/json/json_text.h"
#include "doclock/json/lock_fields.h"
#include "doclock/json/uuid.h"

namespace doclock::cli {
namespace {

LockFields Parse(const std::string& text) {
  if (text.starts_with('{')) return ParseJson(text).tree.get<LockFields>();
  LockFields fields;
  fields.id = UuidFromText(text);
  return fields;
}

}  // namespace

LockFields ReadLockFields(const std::string& file) {
  std::string text = Input(file, "--lock-file").Rest();
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  try {
    // Not assigned to a variable from outside: GCC 12 drops the value that it had before the call,
    // although it stays if the call throws.
    const LockFields fields = Parse(text);
    if (fields.id) return fields;
  } catch (const std::exception&) {
    // The error may quote the id, which is a secret.
  }
  throw std::invalid_argument(
      "--lock-file: FILE must hold the id of a lock: a UUID, or JSON as "
      "{\"id\":\"UUID\",\"time\":null,\"version\":7}");
}

}  // namespace doclock::cli
