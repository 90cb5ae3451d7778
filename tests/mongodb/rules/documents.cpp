#include "mongodb/rules/documents.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace doclock::mongo_rules_test {
namespace {

using mongodb::Array;
using mongodb::Doc;
using plain_test::IdOf;
using plain_test::kDefaultTtl;
using plain_test::kNow;
using plain_test::Record;
using rules::LockState;
using rules::Share;
using std::chrono::hours;
using std::chrono::milliseconds;

/// Writes fields in a dialect.
class Writer {
 public:
  Writer(const Dialect& dialect, std::int64_t now) : dialect_(dialect), now_(now) {}

  void Id(Doc& doc, const char* name, const Uuid& id) const {
    id.is_nil() ? Nothing(doc, name) : static_cast<void>(doc.Add(name, id));
  }
  void Date(Doc& doc, const char* name, TimePoint time) const {
    const auto off = std::chrono::duration_cast<milliseconds>(time - kNow);
    bson_append_date_time(doc.get(), name, -1, now_ + off.count());
  }
  void Number(Doc& doc, const char* name, std::int64_t number) const {
    if (dialect_.narrow && number <= INT32_MAX) {
      doc.Add(name, static_cast<int>(number));
    } else {
      doc.Add(name, number);
    }
  }
  void Ttl(Doc& doc, milliseconds ttl) const {
    if (dialect_.no_ttl && ttl == kDefaultTtl) return;
    Number(doc, "lockTtl", ttl.count());
  }
  void Owner(Doc& doc, const char* name, const OwnerPtr& owner) const {
    owner ? static_cast<void>(doc.Add(name, Doc::Of("name", owner->name))) : Nothing(doc, name);
  }
  void Shares(Doc& doc, const LockState& lock) const {
    Array shares;
    for (const Share& share : lock.shares) shares.Add(Entry(share));
    const bool remains = !lock.IsShared() && dialect_.remains;
    if (remains) shares.Add(Entry({IdOf(99, 0), kNow, {kNow, hours(9)}, nullptr, "", 1}));
    if (lock.IsShared() || remains) {
      doc.Add("lockReaders", shares);
    } else {
      Nothing(doc, "lockReaders");
    }
  }
  void Queue(Doc& doc, const LockState& lock) const {
    Array queue;
    if (dialect_.remains) queue.Add(std::string("no entry")).Add(Doc::Of("id", IdOf(98, 0)));
    for (const rules::QueueEntry& waiter : lock.queue) queue.Add(Entry(waiter));
    if (queue.size() == 0) return Nothing(doc, "lockQueue");
    doc.Add("lockQueue", queue);
  }
  void Fence(Doc& doc, const LockState& lock) const {
    const bool exclusive = lock.HasLockId() && !lock.IsShared();
    if (exclusive && lock.fence != lock.version) {
      Doc record = Doc::Of("of", lock.lock_id);
      Number(record, "at", lock.fence);
      doc.Add("lockFence", record);
    } else if (dialect_.remains) {
      doc.Add("lockFence", Doc::Of("of", IdOf(99, 0)).Add("at", 1));
    } else {
      Nothing(doc, "lockFence");
    }
  }
  void Nothing(Doc& doc, const char* name) const {
    if (dialect_.nulls) doc.AddNull(name);
  }

 private:
  Doc Entry(const rules::QueueEntry& waiter) const {
    Doc entry = Doc::Of("id", waiter.id);
    Date(entry, "until", waiter.until);
    Number(entry, "ttl", waiter.ttl.count());
    if (waiter.min_hold.count() > 0) Number(entry, "hold", waiter.min_hold.count());
    if (waiter.owner) Owner(entry, "owner", waiter.owner);
    if (!waiter.group.empty()) entry.Add("group", waiter.group);
    if (waiter.mode == LockMode::kShared) Number(entry, "share", waiter.max_holders);
    return entry;
  }
  Doc Entry(const Share& share) const {
    Doc entry = Doc::Of("id", share.id);
    Date(entry, "time", share.lease.since);
    Number(entry, "ttl", share.lease.ttl.count());
    if (share.owner) Owner(entry, "owner", share.owner);
    if (!share.group.empty()) entry.Add("group", share.group);
    Number(entry, "fence", share.fence);
    return entry;
  }

  const Dialect& dialect_;
  std::int64_t now_;
};

/// Reads fields.
class Reader {
 public:
  Reader(const bson_t& doc, std::int64_t now) : doc_(doc), now_(now) {}

  bool Has(const char* name) {
    return mongodb::FindField(doc_, name, at_) && !BSON_ITER_HOLDS_NULL(&at_);
  }
  Uuid Id(const char* name) {
    Uuid id{};
    if (Has(name) && !mongodb::ReadUuid(at_, id)) throw std::runtime_error(name);
    return id;
  }
  std::int64_t Number(const char* name, std::int64_t missing) {
    if (!Has(name)) return missing;
    if (!BSON_ITER_HOLDS_INT(&at_)) throw std::runtime_error(name);
    return bson_iter_as_int64(&at_);
  }
  /// To the nearest hour.
  TimePoint Date(const char* name) {
    if (!Has(name)) return {};
    if (!BSON_ITER_HOLDS_DATE_TIME(&at_)) throw std::runtime_error(name);
    return kNow + std::chrono::round<hours>(milliseconds(bson_iter_date_time(&at_) - now_));
  }
  rules::Lease Lease(const char* time, const char* ttl, milliseconds missing) {
    rules::Lease lease{Date(time), milliseconds(Number(ttl, missing.count()))};
    lease.ttl = std::chrono::round<hours>(lease.ttl);
    // A server's clock may have gone back: then a lease begins now.
    lease.since = std::min(lease.since, kNow);
    return lease;
  }
  OwnerPtr Owner(const char* name) {
    bson_t owner;
    if (!Has(name) || !mongodb::DocumentAt(at_, owner)) return nullptr;
    LockHolder holder;
    holder.name = Reader(owner, now_).Text("name");
    return std::make_shared<const LockHolder>(std::move(holder));
  }
  std::string Text(const char* name) {
    return Has(name) && BSON_ITER_HOLDS_UTF8(&at_) ? bson_iter_utf8(&at_, nullptr) : "";
  }
  const bson_iter_t& at() const { return at_; }

 private:
  const bson_t& doc_;
  std::int64_t now_;
  bson_iter_t at_{};
};

std::vector<Share> SharesIn(const bson_iter_t& array, std::int64_t now) {
  std::vector<Share> shares;
  bson_iter_t entry;
  bson_iter_recurse(&array, &entry);
  while (bson_iter_next(&entry)) {
    bson_t doc;
    if (!mongodb::DocumentAt(entry, doc)) throw std::runtime_error("lockReaders");
    Reader reader(doc, now);
    Share& share = shares.emplace_back();
    share.id = reader.Id("id");
    share.lease = reader.Lease("time", "ttl", {});
    share.granted = share.lease.since;
    share.owner = reader.Owner("owner");
    share.group = reader.Text("group");
    share.fence = reader.Number("fence", -1);
  }
  return shares;
}

std::vector<rules::QueueEntry> QueueIn(const bson_iter_t& array, std::int64_t now) {
  std::vector<rules::QueueEntry> queue;
  bson_iter_t item;
  bson_iter_recurse(&array, &item);
  while (bson_iter_next(&item)) {
    bson_t doc;
    if (!BSON_ITER_HOLDS_DOCUMENT(&item) || !mongodb::DocumentAt(item, doc)) continue;
    Reader reader(doc, now);
    rules::QueueEntry& entry = queue.emplace_back();
    entry.id = reader.Id("id");
    entry.until = reader.Date("until");
    entry.ttl = milliseconds(reader.Number("ttl", 0));
    entry.min_hold = milliseconds(reader.Number("hold", 0));
    entry.owner = reader.Owner("owner");
    entry.group = reader.Text("group");
    if (!reader.Has("share")) continue;
    entry.mode = LockMode::kShared;
    entry.max_holders = static_cast<int>(reader.Number("share", 0));
  }
  return queue;
}

}  // namespace

Doc DocumentOf(const Key& key, const Record& record, const Dialect& dialect, std::int64_t now) {
  const Writer writer(dialect, now);
  const LockState& lock = record.lock;
  Doc doc = Doc::Of("_id", key);
  for (const auto& [name, value] : record.body.items()) doc.Add(name, value.get<int>());
  writer.Id(doc, "lockId", lock.lock_id);
  if (lock.granted != TimePoint{}) {
    writer.Date(doc, "lockTime", lock.lease.since);
    writer.Ttl(doc, lock.lease.ttl);
  }
  if (lock.version != 0 || dialect.narrow) writer.Number(doc, "lockVersion", lock.version);
  writer.Id(doc, "lockBorn", lock.born);
  writer.Owner(doc, "lockOwner", lock.owner);
  writer.Id(doc, "lockReleased", lock.released);
  if (lock.closed_until != TimePoint{}) {
    writer.Date(doc, "lockClosed", lock.closed_until);
  } else {
    writer.Nothing(doc, "lockClosed");
  }
  if (!lock.group.empty()) doc.Add("lockGroup", lock.group);
  writer.Shares(doc, lock);
  writer.Fence(doc, lock);
  writer.Queue(doc, lock);
  return doc;
}

Record RecordOf(const bson_t& document, std::int64_t now) {
  Record record;
  LockState& lock = record.lock;
  Reader reader(document, now);
  lock.lock_id = reader.Id("lockId");
  lock.version = reader.Number("lockVersion", 0);
  lock.lease = reader.Lease("lockTime", "lockTtl", kDefaultTtl);
  lock.granted = lock.lease.since;
  lock.owner = reader.Owner("lockOwner");
  lock.group = reader.Text("lockGroup");
  lock.born = reader.Id("lockBorn");
  lock.released = reader.Id("lockReleased");
  lock.closed_until = reader.Date("lockClosed");
  if (lock.IsShared() && !reader.Has("lockReaders")) throw std::runtime_error("no lockReaders");
  if (lock.IsShared()) lock.shares = SharesIn(reader.at(), now);
  if (reader.Has("lockQueue") && BSON_ITER_HOLDS_ARRAY(&reader.at())) {
    lock.queue = QueueIn(reader.at(), now);
  }
  lock.fence = lock.version;
  bson_t fence;
  if (reader.Has("lockFence") && mongodb::DocumentAt(reader.at(), fence)) {
    Reader inner(fence, now);
    if (inner.Id("of") == lock.lock_id) lock.fence = inner.Number("at", -1);
  }
  bson_iter_t field;
  bson_iter_init(&field, &document);
  while (bson_iter_next(&field)) {
    const std::string name = bson_iter_key(&field);
    if (name == "_id" || name.starts_with("lock")) continue;
    record.body[name] = bson_iter_as_int64(&field);
  }
  return record;
}

}  // namespace doclock::mongo_rules_test
