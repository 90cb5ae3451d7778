#include "document/collection.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "doclock/errors.h"
#include "document/values/lock_field_names.h"

namespace doclock {
namespace {

constexpr std::size_t kMaxNameLength = 64;

bool IsLetter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool IsDigit(char c) noexcept { return c >= '0' && c <= '9'; }

bool IsNameChar(char c) noexcept {
  return IsLetter(c) || IsDigit(c) || c == '_' || c == '.' || c == '-';
}

bool IsFieldName(std::string_view name) noexcept {
  if (name.empty() || name.size() > kMaxNameLength || IsDigit(name.front())) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return IsLetter(c) || IsDigit(c) || c == '_'; });
}

}  // namespace

void CheckCollectionName(const std::string& name) {
  const bool good = !name.empty() && name.size() <= kMaxNameLength && name.front() != '.' &&
                    name.front() != '-' && std::all_of(name.begin(), name.end(), IsNameChar);
  if (good) return;
  throw std::invalid_argument(
      "doclock: a collection's name must be 1 to 64 characters of [A-Za-z0-9_.-], not starting "
      "with '.' or '-'");
}

void CheckLockFieldNames(const LockFieldNames& fields) {
  const NamedLockFields all = AllLockFields(fields);
  for (auto field = all.begin(); field != all.end(); ++field) {
    const std::string member = "doclock: LockFieldNames::" + std::string(field->first);
    if (!IsFieldName(*field->second)) {
      throw std::invalid_argument(member + " must be 1 to 64 characters of [A-Za-z_][A-Za-z0-9_]*");
    }
    if (*field->second == "_id") {
      throw std::invalid_argument(member + " must not be _id: MongoDB keeps the key there");
    }
    const bool twice = std::any_of(
        all.begin(), field, [&](const auto& earlier) { return *earlier.second == *field->second; });
    if (twice) throw std::invalid_argument(member + " repeats the name of another lock field");
  }
}

void CheckSameCollection(const Collection& open, const LockFieldNames& fields,
                         std::chrono::milliseconds default_ttl) {
  if (open.fields() != fields) {
    throw std::invalid_argument("doclock: collection " + open.name() +
                                " is open with other names of the lock fields");
  }
  if (open.default_ttl() != default_ttl) {
    throw std::invalid_argument("doclock: collection " + open.name() + " is open with another ttl");
  }
}

std::string FieldList(const std::vector<std::string>& fields) {
  std::string list;
  for (const std::string& field : fields) list += (list.empty() ? "" : ",") + field;
  return list;
}

void ThrowRepeatedValues(const std::vector<std::string>& fields) {
  const std::string list = FieldList(fields);
  throw ConflictException("doclock: documents already repeat values of the index " + list,
                          std::nullopt, std::nullopt, list);
}

Collection::Collection(std::string name, LockFieldNames fields,
                       std::chrono::milliseconds default_ttl)
    : name_(std::move(name)), fields_(std::move(fields)), default_ttl_(default_ttl) {
  CheckCollectionName(name_);
  CheckLockFieldNames(fields_);
  if (default_ttl_ <= std::chrono::milliseconds::zero()) {
    throw std::invalid_argument("doclock: a collection's ttl must be positive");
  }
}

Collection::~Collection() = default;

}  // namespace doclock
