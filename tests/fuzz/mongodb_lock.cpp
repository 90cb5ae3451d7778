// Lock fields in documents that another program wrote to MongoDB: they are read without a fault,
// what is told of them is within its bounds, and the rules never grant a lock that is live.
//
// An input that begins with '{' is a document in Extended JSON, any other is BSON.

#include <array>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/rules.h"
#include "mongodb/bson/body_codec.h"
#include "mongodb/statements/stored_lock.h"

namespace doclock::fuzz {
namespace {

using mongodb::kLookedAt;
using mongodb::StoredLock;

bool IsLockField(const std::string& name) {
  const LockFieldNames& names = Collected().fields();
  const auto fields = mongodb::LockFields(names);
  return std::any_of(fields.begin(), fields.end(),
                     [&](const std::string* field) { return *field == name; });
}

void TryAt(const bson_t& doc, std::int64_t now) {
  const StoredLock lock = mongodb::ReadStoredLock(doc, Collected(), now);
  Require(lock.version >= 0 && lock.version <= mongodb::kHighestVersion, "a version is in range");
  if (lock.malformed()) {
    Require(IsLockField(lock.bad_field), "a malformed field is named");
    return;
  }
  bson_iter_t id;
  const bool has_id = mongodb::FindField(doc, "lockId", id) && !BSON_ITER_HOLDS_NULL(&id);
  Require(has_id == lock.HasLockId(), "a lock id is seen");
  Require(!lock.IsShared() || !lock.shares.empty() || lock.has_readers, "shares are seen");
  TryRules(Collected(), lock, kLookedAt, mongodb::kLongestTimeMs);
}

void Try(const bson_t& doc) {
  // What a server's clock may say, and what no clock says.
  constexpr std::array<std::int64_t, 5> kNows{1'700'000'000'000, 0, -1, INT64_MAX, INT64_MIN};
  for (const std::int64_t now : kNows) TryAt(doc, now);
  bson_iter_t id;
  Key key;
  if (mongodb::FindField(doc, "_id", id) && mongodb::ReadKey(id, key)) {
    Require(key == key && key.Hash() == Key(key).Hash(), "a key is a value");
  }
}

void TryJson(std::string_view text) {
  bson_error_t error;
  bson_t* const parsed = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(text.data()),
                                            static_cast<ssize_t>(text.size()), &error);
  if (parsed == nullptr) return;
  const mongodb::OwnedBson owner(parsed);
  Try(*parsed);
}

}  // namespace
}  // namespace doclock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace doclock::fuzz;
  if (size == 0 || size > kLongestInput) return 0;
  bson_t doc;
  if (data[0] == '{') {
    TryJson(TextOf(data, size));
  } else if (bson_init_static(&doc, data, size)) {
    Try(doc);
  }
  return 0;
}
