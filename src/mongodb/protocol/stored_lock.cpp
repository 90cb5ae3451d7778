#include "mongodb/protocol/stored_lock.h"

#include <algorithm>

namespace doclock::mongodb {
namespace {

/// Takes fields out of a document, and remembers whether one was not what it should be.
class Fields {
 public:
  explicit Fields(const bson_t& doc) : doc_(doc) {}

  /// False when it is missing or null.
  bool Get(const std::string& name, bson_iter_t& iter) const {
    return FindField(doc_, name, iter) && !BSON_ITER_HOLDS_NULL(&iter);
  }
  [[nodiscard]] bool IsNull(const std::string& name) const {
    bson_iter_t iter;
    return FindField(doc_, name, iter) && BSON_ITER_HOLDS_NULL(&iter);
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
  /// A date in ms; `missing` when there is none.
  std::int64_t Date(const std::string& name, std::int64_t missing) {
    bson_iter_t iter;
    if (!Get(name, iter)) return missing;
    if (!BSON_ITER_HOLDS_DATE_TIME(&iter)) return Bad(name, missing);
    return bson_iter_date_time(&iter);
  }
  [[nodiscard]] Doc Raw(const std::string& name) const {
    Doc raw;
    bson_iter_t iter;
    if (Get(name, iter)) raw.Add(name, *bson_iter_value(&iter));
    return raw;
  }
  [[nodiscard]] bool good() const noexcept { return bad_.empty(); }
  /// The first that was not.
  [[nodiscard]] const std::string& bad() const noexcept { return bad_; }

  std::int64_t Bad(const std::string& name, std::int64_t value = 0) {
    if (bad_.empty()) bad_ = name;
    return value;
  }

 private:
  const bson_t& doc_;
  std::string bad_;
};

/// For people; what somebody else wrote there is nobody.
LockHolder ReadHolder(const Fields& fields, const std::string& name) {
  LockHolder holder;
  bson_iter_t owner, part;
  if (!fields.Get(name, owner) || !BSON_ITER_HOLDS_DOCUMENT(&owner) ||
      !bson_iter_recurse(&owner, &part)) {
    return holder;
  }
  while (bson_iter_next(&part)) {
    const std::string_view field(bson_iter_key(&part));
    if (field == "name" && BSON_ITER_HOLDS_UTF8(&part))
      holder.name = bson_iter_utf8(&part, nullptr);
    if (field == "host" && BSON_ITER_HOLDS_UTF8(&part))
      holder.host = bson_iter_utf8(&part, nullptr);
    if (field == "pid" && BSON_ITER_HOLDS_INT(&part)) holder.pid = bson_iter_as_int64(&part);
  }
  return holder;
}

/// What is left of a lease; in an order that cannot overflow.
std::int64_t LeaseLeft(std::int64_t now, std::int64_t time, std::int64_t ttl) {
  if (time > now) return ttl;  // the clock went back, or somebody's did
  const auto age = static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(time);
  return age >= static_cast<std::uint64_t>(ttl) ? 0 : ttl - static_cast<std::int64_t>(age);
}

/// False: it is not what this library writes.
bool ReadShare(const bson_t& doc, std::int64_t now, StoredShare& share) {
  Fields fields(doc);
  share.id = fields.Id("id");
  const std::int64_t time = fields.Date("time", INT64_MIN);
  const std::int64_t ttl = fields.Integer("ttl", -1, kLongestTtlMs);
  share.holder = ReadHolder(fields, "owner");
  bson_iter_t group;
  if (fields.Get("group", group) && BSON_ITER_HOLDS_UTF8(&group)) {
    share.group = bson_iter_utf8(&group, nullptr);
  }
  bson_iter_t fence;
  if (fields.Get("fence", fence) && BSON_ITER_HOLDS_INT(&fence)) {
    share.fence = bson_iter_as_int64(&fence);
  }
  bson_iter_t id;
  if (!fields.good() || !fields.Get("id", id) || time < kEarliestMs || ttl < 0) return false;
  share.ttl = std::chrono::milliseconds(ttl);
  share.left = std::chrono::milliseconds(LeaseLeft(now, time, ttl));
  share.age = std::chrono::milliseconds(Since(time, now));
  return true;
}

void ReadShares(Fields& fields, const std::string& name, std::int64_t now, StoredLock& lock) {
  bson_iter_t readers, reader;
  if (!fields.Get(name, readers)) {
    if (lock.shared()) fields.Bad(name);
    return;
  }
  if (!BSON_ITER_HOLDS_ARRAY(&readers) || !bson_iter_recurse(&readers, &reader)) {
    fields.Bad(name);
    return;
  }
  while (bson_iter_next(&reader)) {
    bson_t doc;
    if (!BSON_ITER_HOLDS_DOCUMENT(&reader) || !DocumentAt(reader, doc) ||
        !ReadShare(doc, now, lock.shares.emplace_back())) {
      fields.Bad(name);
    }
  }
}

void ReadIntent(Fields& fields, const std::string& name, std::int64_t now, StoredLock& lock) {
  bson_iter_t intent;
  if (!fields.Get(name, intent)) return;
  bson_t doc;
  if (!BSON_ITER_HOLDS_DOCUMENT(&intent) || !DocumentAt(intent, doc)) {
    fields.Bad(name);
    return;
  }
  Fields inner(doc);
  bson_iter_t id;
  StoredIntent& read = lock.intent.emplace();
  read.id = inner.Id("id");
  const std::int64_t until = inner.Date("until", INT64_MIN);
  if (!inner.good() || !inner.Get("id", id) || until == INT64_MIN) fields.Bad(name);
  if (until != INT64_MIN) read.left = std::chrono::milliseconds(Since(now, until));
}

/// Of those who share a lock, the one who may do so longest.
const StoredShare* Latest(const std::vector<StoredShare>& shares) {
  const auto latest =
      std::max_element(shares.begin(), shares.end(),
                       [](const StoredShare& a, const StoredShare& b) { return a.left < b.left; });
  return latest == shares.end() ? nullptr : &*latest;
}

}  // namespace

std::int64_t Since(std::int64_t date, std::int64_t now) noexcept {
  if (date >= now) return 0;
  // Unsigned: the difference may be more than a signed number holds.
  const auto time = static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(date);
  return static_cast<std::int64_t>(std::min(time, static_cast<std::uint64_t>(kLongestTimeMs)));
}

const StoredShare* StoredLock::LiveShare(const Uuid& share) const noexcept {
  if (!shared()) return nullptr;
  const auto found = std::find_if(shares.begin(), shares.end(), [&](const StoredShare& one) {
    return one.id == share && one.live();
  });
  return found == shares.end() ? nullptr : &*found;
}

StoredLock ReadStoredLock(const bson_t& doc, const Collection& collection, std::int64_t now) {
  const LockFieldNames& names = collection.fields();
  Fields fields(doc);
  StoredLock lock;
  bson_iter_t any;
  lock.lock_id = fields.Id(names.id);
  if (lock.lock_id.is_nil() && fields.Get(names.id, any)) fields.Bad(names.id);
  lock.version = fields.Integer(names.version, 0, kHighestVersion);
  if (fields.IsNull(names.version)) fields.Bad(names.version);  // $inc refuses it
  lock.born = fields.Id(names.born);
  lock.released = fields.Id(names.released);
  const std::int64_t closed = fields.Date(names.closed, INT64_MIN);
  lock.closed_left = std::chrono::milliseconds(Since(now, closed));
  lock.closed = fields.Raw(names.closed);
  if (!lock.lock_id.is_nil()) {
    lock.id = fields.Raw(names.id);
    lock.holder = ReadHolder(fields, names.owner);
    const std::int64_t time = fields.Date(names.time, INT64_MIN);
    const std::int64_t ttl =
        fields.Integer(names.ttl, collection.default_ttl().count(), kLongestTtlMs);
    if (time < kEarliestMs) fields.Bad(names.time);
    lock.remaining = std::chrono::milliseconds(LeaseLeft(now, time, ttl));
    lock.state =
        lock.remaining.count() > 0 ? StoredLock::State::kLive : StoredLock::State::kExpired;
  }
  lock.has_closed = FindField(doc, names.closed, any);
  lock.has_readers = FindField(doc, names.readers, any);
  lock.has_intent = FindField(doc, names.intent, any);
  if (lock.has_readers || lock.shared()) ReadShares(fields, names.readers, now, lock);
  if (lock.has_intent) ReadIntent(fields, names.intent, now, lock);
  if (const StoredShare* const latest = Latest(lock.shares); latest != nullptr && lock.shared()) {
    lock.holder = latest->holder;
  }
  if (!fields.good()) {
    lock.state = StoredLock::State::kMalformed;
    lock.bad_field = fields.bad();
  }
  return lock;
}

}  // namespace doclock::mongodb
