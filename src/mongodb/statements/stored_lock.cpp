#include "mongodb/statements/stored_lock.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "mongodb/bson/bson.h"
#include "rules/rules.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

/// Makes the version of a UUID, which is 4 in ours (NewUuid), one that does not exist.
constexpr std::uint8_t kOtherVersion = 0xf0;

/// Takes fields out of a document, and remembers whether one was not what it should be.
class Fields {
 public:
  explicit Fields(const bson_t& doc) : doc_(&doc) {}

  /// Returns true; false when it is missing or null.
  bool Get(const std::string& name, bson_iter_t& iter) const {
    return FindField(*doc_, name, iter) && !BSON_ITER_HOLDS_NULL(&iter);
  }
  [[nodiscard]] bool IsNull(const std::string& name) const {
    bson_iter_t iter;
    return FindField(*doc_, name, iter) && BSON_ITER_HOLDS_NULL(&iter);
  }
  std::int64_t Integer(const std::string& name, std::int64_t missing, std::int64_t highest) {
    bson_iter_t iter;
    if (!Get(name, iter)) return missing;
    if (!BSON_ITER_HOLDS_INT(&iter)) return Bad(name, missing);
    const std::int64_t value = bson_iter_as_int64(&iter);
    return value < 0 || value > highest ? Bad(name, missing) : value;
  }
  Uuid Id(const std::string& name) {
    bson_iter_t iter;
    Uuid id{};
    if (Get(name, iter) && !ReadUuid(iter, id)) Bad(name);
    return id;
  }
  /// The id of a holder or a waiting writer. The server takes UUIDs of subtype 3 and 4 for
  /// different values, and this library writes 4: one of subtype 3 must not equal any of ours.
  Uuid HolderId(const std::string& name) {
    Uuid id = Id(name);
    bson_iter_t iter;
    if (!id.is_nil() && Get(name, iter) && IsLegacyUuid(iter)) id.data[6] ^= kOtherVersion;
    return id;
  }
  /// A date in ms; `missing` when there is none.
  std::int64_t Date(const std::string& name, std::int64_t missing) {
    bson_iter_t iter;
    if (!Get(name, iter)) return missing;
    if (!BSON_ITER_HOLDS_DATE_TIME(&iter)) return Bad(name, missing);
    return bson_iter_date_time(&iter);
  }
  [[nodiscard]] bool good() const noexcept { return bad_.empty(); }
  /// The first that was not.
  [[nodiscard]] const std::string& bad() const noexcept { return bad_; }

  std::int64_t Bad(const std::string& name, std::int64_t value = 0) {
    if (bad_.empty()) bad_ = name;
    return value;
  }

 private:
  const bson_t* doc_;
  std::string bad_;
};

/// A text, which may hold NUL. Empty: it is none.
std::string TextOf(const bson_iter_t& value) {
  if (!BSON_ITER_HOLDS_UTF8(&value)) return {};
  std::uint32_t size = 0;
  const char* const text = bson_iter_utf8(&value, &size);
  return {text, size};
}

/// Diagnostic only; what another program wrote there names no holder.
OwnerPtr ReadOwner(const Fields& fields, const std::string& name) {
  bson_iter_t owner, part;
  if (!fields.Get(name, owner) || !BSON_ITER_HOLDS_DOCUMENT(&owner) ||
      !bson_iter_recurse(&owner, &part)) {
    return nullptr;
  }
  LockHolder holder;
  while (bson_iter_next(&part)) {
    const std::string_view field(bson_iter_key(&part));
    if (field == "name") holder.name = TextOf(part);
    if (field == "host") holder.host = TextOf(part);
    if (field == "pid" && BSON_ITER_HOLDS_INT(&part)) holder.pid = bson_iter_as_int64(&part);
  }
  return std::make_shared<const LockHolder>(std::move(holder));
}

std::string ReadGroup(const Fields& fields, const std::string& name) {
  bson_iter_t group;
  return fields.Get(name, group) ? TextOf(group) : std::string();
}

/// How long after `date` `now` is; 0 if it is before.
milliseconds Since(std::int64_t date, std::int64_t now) noexcept {
  if (date >= now) return {};
  // Unsigned: the difference may be more than a signed number holds.
  const auto time = static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(date);
  return milliseconds(std::min(time, static_cast<std::uint64_t>(kLongestTimeMs)));
}

/// A lease that began in the future begins now: the clock went back, or another client's did.
rules::Lease LeaseOf(std::int64_t time, std::int64_t ttl, std::int64_t now) noexcept {
  return {kLookedAt - Since(time, now), milliseconds(ttl)};
}

/// A date that has passed counts as the present: it is over, and nothing asks since when.
TimePoint EndOf(std::int64_t date, std::int64_t now) noexcept {
  return kLookedAt + Since(now, date);
}

/// False: it is not what this library writes.
bool ReadShare(const bson_t& doc, std::int64_t now, rules::Share& share) {
  Fields fields(doc);
  share.id = fields.HolderId("id");
  const std::int64_t time = fields.Date("time", INT64_MIN);
  const std::int64_t ttl = fields.Integer("ttl", -1, kLongestTtlMs);
  share.owner = ReadOwner(fields, "owner");
  share.group = ReadGroup(fields, "group");
  bson_iter_t fence, id;
  if (fields.Get("fence", fence) && BSON_ITER_HOLDS_INT(&fence)) {
    share.fence = bson_iter_as_int64(&fence);
  }
  if (!fields.good() || !fields.Get("id", id) || time < kEarliestMs || ttl < 0) return false;
  share.lease = LeaseOf(time, ttl, now);
  share.granted = share.lease.since;
  return true;
}

/// There may be some though the lock is not shared: they count for nothing, but have to be sound.
void ReadShares(Fields& fields, const std::string& name, std::int64_t now, StoredLock& lock) {
  bson_iter_t readers, reader;
  if (!fields.Get(name, readers)) {
    if (lock.IsShared()) fields.Bad(name);
    return;
  }
  if (!BSON_ITER_HOLDS_ARRAY(&readers) || !bson_iter_recurse(&readers, &reader)) {
    fields.Bad(name);
    return;
  }
  std::vector<rules::Share> shares;
  while (bson_iter_next(&reader)) {
    bson_t doc;
    if (!BSON_ITER_HOLDS_DOCUMENT(&reader) || !DocumentAt(reader, doc) ||
        !ReadShare(doc, now, shares.emplace_back())) {
      fields.Bad(name);
    }
  }
  if (!lock.IsShared() || shares.empty()) return;
  lock.shares = std::move(shares);
  lock.owner = rules::LastToEnd(lock.shares).owner;
}

/// Returns true; false if it is not what this library writes, and counts as an entry that is over.
bool ReadEntry(const bson_t& doc, std::int64_t now, rules::QueueEntry& entry) {
  Fields fields(doc);
  bson_iter_t id;
  if (!fields.Get("id", id) || IsLegacyUuid(id)) return false;
  entry.id = fields.Id("id");
  entry.until = EndOf(fields.Date("until", INT64_MIN), now);
  entry.ttl = milliseconds(fields.Integer("ttl", -1, kLongestTtlMs));
  const auto limit = static_cast<int>(fields.Integer("share", -1, kMaxHolders));
  if (!fields.good() || entry.id.is_nil() || entry.id == kSharedLockId || entry.ttl.count() < 0) {
    return false;
  }
  if (limit >= 0) {
    entry.mode = LockMode::kShared;
    entry.max_holders = limit;
  }
  Fields optional(doc);
  entry.min_hold = milliseconds(optional.Integer("hold", 0, kLongestTtlMs));
  entry.owner = ReadOwner(optional, "owner");
  entry.group = ReadGroup(optional, "group");
  return true;
}

/// The queue decides nothing about exclusion: whatever stands there is not malformed.
void ReadQueue(const Fields& fields, const std::string& name, std::int64_t now, StoredLock& lock) {
  bson_iter_t queue, item;
  if (!fields.Get(name, queue) || !BSON_ITER_HOLDS_ARRAY(&queue) ||
      !bson_iter_recurse(&queue, &item)) {
    return;
  }
  while (bson_iter_next(&item)) {
    bson_t doc;
    rules::QueueEntry entry;
    if (BSON_ITER_HOLDS_DOCUMENT(&item) && DocumentAt(item, doc) && ReadEntry(doc, now, entry)) {
      lock.queue.push_back(std::move(entry));
    }
  }
}

/// The version at the grant of an exclusive lock, 0 if that is not known. A holder's writes raise
/// the version, so each of them records it. Diagnostic only, as the owner is.
std::int64_t ReadFence(const Fields& fields, const std::string& name, const StoredLock& lock) {
  bson_iter_t record;
  bson_t doc;
  if (!fields.Get(name, record)) return lock.version;
  if (!BSON_ITER_HOLDS_DOCUMENT(&record) || !DocumentAt(record, doc)) return 0;
  Fields inner(doc);
  const Uuid of = inner.Id("of");
  const std::int64_t at = inner.Integer("at", 0, lock.version);
  if (!inner.good() || of.is_nil()) return 0;
  return of == lock.lock_id ? at : lock.version;
}

/// Without a holder the last lease is only shown: then a bad one makes nothing malformed.
void ReadLease(Fields& fields, const Collection& collection, std::int64_t now, StoredLock& lock) {
  const LockFieldNames& names = collection.fields();
  bson_iter_t any;
  if (!lock.HasLockId() && !fields.Get(names.time, any)) return;
  Fields lease = fields;
  const std::int64_t time = lease.Date(names.time, INT64_MIN);
  const std::int64_t ttl =
      lease.Integer(names.ttl, collection.default_ttl().count(), kLongestTtlMs);
  if (time < kEarliestMs) lease.Bad(names.time);
  if (lock.HasLockId()) fields = lease;
  if (!lease.good()) return;
  lock.lease = LeaseOf(time, ttl, now);
  lock.granted = lock.lease.since;
}

}  // namespace

StoredLock ReadStoredLock(const bson_t& doc, const Collection& collection, std::int64_t now) {
  const LockFieldNames& names = collection.fields();
  Fields fields(doc);
  StoredLock lock;
  bson_iter_t any;
  lock.lock_id = fields.HolderId(names.id);
  if (!lock.HasLockId() && fields.Get(names.id, any)) fields.Bad(names.id);
  lock.version = fields.Integer(names.version, 0, kHighestVersion);
  if (fields.IsNull(names.version)) fields.Bad(names.version);  // $inc refuses it
  lock.born = fields.Id(names.born);
  lock.released = fields.Id(names.released);
  lock.closed_until = EndOf(fields.Date(names.closed, INT64_MIN), now);
  ReadLease(fields, collection, now, lock);
  if (lock.HasLockId()) {
    lock.owner = ReadOwner(fields, names.owner);
    lock.group = ReadGroup(fields, names.group);
  } else if (fields.Get(names.owner, any) && !BSON_ITER_HOLDS_DOCUMENT(&any)) {
    fields.Bad(
        names.owner);  // another program's lock, or no lock's at all: a grant would replace it
  }
  lock.has_closed = FindField(doc, names.closed, any);
  lock.has_readers = FindField(doc, names.readers, any);
  if (lock.has_readers || lock.IsShared()) ReadShares(fields, names.readers, now, lock);
  lock.has_queue = FindField(doc, names.queue, any);
  if (lock.has_queue) ReadQueue(fields, names.queue, now, lock);
  if (lock.HasLockId() && !lock.IsShared()) lock.fence = ReadFence(fields, names.fence, lock);
  lock.bad_field = fields.bad();
  return lock;
}

void Malformed(StoreOp& op, const StoredLock& lock) {
  op.Fail(Errc::kMalformed,
          "the lock fields of the document do not hold what this library writes (" +
              lock.bad_field + ")");
}

}  // namespace doclock::mongodb
