// Lock fields in documents that another program wrote to MongoDB: they are read without a fault,
// what is told of them is within its bounds, and the rules never grant a lock that is live.
//
// An input that begins with '{' is a document in Extended JSON, any other is BSON.

#include <array>

#include "fuzz/support/fuzz.h"
#include "mongodb/bson/lock_fields.h"
#include "mongodb/protocol/stored_lock.h"
#include "rules/acquire.h"
#include "rules/holder.h"
#include "rules/looking.h"
#include "rules/tidying.h"

namespace doclock::fuzz {
namespace {

using mongodb::kLookedAt;
using mongodb::StoredLock;

class Things : public Collection {
 public:
  Things() : Collection("things", {}, std::chrono::seconds(30)) {}
};

Things& Collected() {
  static Things things;
  return things;
}

constexpr Uuid kNew = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

bool IsLockField(const std::string& name) {
  const LockFieldNames& names = Collected().fields();
  const auto fields = mongodb::LockFields(names);
  return std::any_of(fields.begin(), fields.end(),
                     [&](const std::string* field) { return *field == name; });
}

/// What the rules make of a lock that is sound.
void TryRules(const StoredLock& lock) {
  const Key key("1");
  const bool live = lock.IsLive(kLookedAt);
  for (const LockMode mode : {LockMode::kExclusive, LockMode::kShared}) {
    rules::LockState state = lock;
    AcquireOp op(Collected(), key);
    op.grant.lock_id = kNew;
    op.grant.ttl = kMaxTtl.ms();
    op.grant.mode = mode;
    rules::Acquire(op, state, kLookedAt);
    const bool granted = op.status == OpStatus::kDone;
    Require(!granted || !live || (mode == LockMode::kShared && lock.IsShared()),
            "a live lock is not granted");
    Require(!granted || op.version > lock.version, "a grant raises the version");
    if (op.detail && op.detail->remaining) {
      Require(op.detail->remaining->count() >= 0, "a remaining time is not negative");
    }
  }
  ReadOp read(Collected(), key);
  rules::Read(read, lock, kLookedAt);
  Require(read.locked == live, "a read tells of a live lock");
  Require(read.remaining.count() >= 0, "a remaining time is not negative");
  RenewOp renew(Collected(), key);
  renew.lock_id = lock.lock_id;
  renew.ttl = kMaxTtl.ms();
  rules::LockState renewed = lock;
  rules::Renew(renew, renewed, kLookedAt);
  Require(renew.status != OpStatus::kDone || live, "a renewal does not revive");
}

void CheckRows(const StoredLock& lock) {
  LockQuery query;
  query.unheld = true;
  std::vector<LockRow> rows;
  rules::AddRows(rows, {}, lock, query, kLookedAt);
  for (const LockRow& row : rows) {
    Require(row.left.count() >= 0 && row.age.count() >= 0 && row.ttl.count() >= 0,
            "no time that is shown is negative");
    // Others make nanoseconds of it.
    Require(row.age.count() <= mongodb::kLongestTimeMs, "no time that is shown is out of range");
  }
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
  CheckRows(lock);
  TryRules(lock);
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
