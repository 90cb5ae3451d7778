#include <algorithm>
#include <array>
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <locale>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "mongodb/layouts/layout_parts.h"
#include "mongodb/statements/expressions.h"
#include "mongodb/statements/statements.h"
#include "mongodb/statements/stored_lock.h"
#include "rules/rules.h"

namespace doclock::mongodb {
namespace {

using rules::LockState;
using rules::Share;
using std::chrono::milliseconds;

/// How far a clock of theirs may be from the server's.
constexpr milliseconds kMargin{1000};

constexpr const char* kExclusive = "exclusive";
constexpr const char* kShared = "shared";

std::string CommentOf(std::int64_t pid, std::int64_t fence) {
  return "doclock, process " + std::to_string(pid) + ", fence " + std::to_string(fence);
}

struct Comment {
  std::int64_t pid = 0, fence = 0;
};
/// Nothing: the lock is not ours.
std::optional<Comment> CommentIn(const bson_t& lock) {
  const std::string text = TextAt(lock, "comment");
  std::istringstream words(text);
  words.imbue(std::locale::classic());
  std::string word;
  char comma;
  Comment found;
  words >> word >> word >> found.pid >> comma >> word >> found.fence;
  const bool ours = CommentOf(found.pid, found.fence) == text && found.fence < kHighestVersion;
  return ours ? std::optional(found) : std::nullopt;
}

/// How much later than its lease it is stored to end.
milliseconds MarginOf(const bson_t& lock) { return CommentIn(lock) ? kMargin : -kMargin; }

/// Theirs may be any text. One that is no UUID as doclock writes it is shown as one made of it.
Uuid IdOf(const std::string& text) {
  const std::optional<Uuid> id = UuidIn(text);
  if (id && !id->is_nil() && *id != kSharedLockId) return *id;
  return boost::uuids::name_generator_sha1(boost::uuids::ns::oid())(text);
}

/// The fields of a lock, except `acquired` and `_id`.
constexpr std::array kLockFields = {
    LayoutField{"lockId", BSON_TYPE_UTF8},         LayoutField{"owner", BSON_TYPE_UTF8},
    LayoutField{"host", BSON_TYPE_UTF8},           LayoutField{"comment", BSON_TYPE_UTF8},
    LayoutField{"createdAt", BSON_TYPE_DATE_TIME}, LayoutField{"renewedAt", BSON_TYPE_DATE_TIME},
    LayoutField{"expiresAt", BSON_TYPE_DATE_TIME}};

bool IsRequired(std::string_view field) { return field == "lockId" || field == "createdAt"; }

/// The first field of a lock that has another type than they write; null: none.
const char* BadFieldOf(const bson_t& lock) {
  for (const auto& [name, type] : kLockFields) {
    if (!HasType(lock, name, type, !IsRequired(name))) return name;
  }
  return nullptr;
}

/// An expression: are the shares as LocksIn reads them?
Doc AreSharesWellFormed() {
  Array types;
  for (const auto& [name, type] : kLockFields) {
    const std::string field = "$this." + std::string(name);
    const char* const own = type == BSON_TYPE_UTF8 ? "string" : "date";
    types.Add(IsRequired(name) ? TypeIn(field, {own}) : TypeIn(field, {own, "null", "missing"}));
  }
  const Doc each = Mapped("$shared.locks", Doc::Of("$and", types));
  const Doc counted = And(TypeIn("shared.count", {"int", "long", "double"}),
                          Call("$eq", "$shared.count", Doc::Of("$size", "$shared.locks")),
                          Doc::Of("$allElementsTrue", Array().Add(each)));
  return Conditional(TypeIn("shared.locks", {"array"}), counted, false);
}

Share ShareOf(const bson_t& lock, std::int64_t now) {
  const Comment ours = CommentIn(lock).value_or(Comment{});
  const bool ends = HasType(lock, "expiresAt", BSON_TYPE_DATE_TIME);
  const TimePoint end = SeenFrom(now, DateAt(lock, "expiresAt")) - MarginOf(lock);
  LockHolder holder{TextAt(lock, "owner"), TextAt(lock, "host"), ours.pid};
  return {.id = IdOf(TextAt(lock, "lockId")),
          .granted = SeenFrom(now, DateAt(lock, "createdAt")),
          .lease = ends ? LeaseUntil(end) : rules::Lease{kLookedAt, milliseconds(kLongestTimeMs)},
          .owner = std::make_shared<const LockHolder>(std::move(holder)),
          .group = {},
          .fence = ours.fence};
}

/// A document's locks, the exclusive one read as if it was a share.
struct Locks {
  std::string bad_field;  ///< Not empty: this is not as they write it; nothing else counts.
  bool exclusive = false;
  std::vector<Share> shares;
  std::vector<Doc> stored;  ///< The same, as they stand there.
};

Locks LocksIn(const bson_t& doc, std::int64_t now) {
  Locks locks;
  bson_t exclusive, shared, lock;
  bson_iter_t count;
  const char* const bad = !FindDocument(doc, kExclusive, exclusive)         ? kExclusive
                          : !HasType(exclusive, "acquired", BSON_TYPE_BOOL) ? "exclusive.acquired"
                          : !FindDocument(doc, kShared, shared)             ? kShared
                          : !HasType(shared, "locks", BSON_TYPE_ARRAY)      ? "shared.locks"
                          : !FindField(shared, "count", count)              ? "shared.count"
                                                                            : nullptr;
  if (bad != nullptr) {
    locks.bad_field = bad;
    return locks;
  }
  const auto add = [&](const bson_t& one, const char* place) {
    const char* const field = BadFieldOf(one);
    if (field != nullptr) locks.bad_field = std::string(place) + field;
    if (field == nullptr) locks.shares.push_back(ShareOf(one, now));
    bson_concat(locks.stored.emplace_back().get(), &one);
    return field == nullptr;
  };
  const std::size_t size = CountIn(shared, "locks");
  locks.exclusive = FlagAt(exclusive, "acquired");
  if (locks.exclusive) add(exclusive, "exclusive.");
  ForEachItem(shared, "locks", [&](const bson_iter_t& item) {
    return add(DocumentAt(item, lock) ? lock : shared, "shared.locks.");  // which is none
  });
  const bool counted =
      IsNumber(bson_iter_type(&count)) && bson_iter_as_double(&count) == static_cast<double>(size);
  if (!counted || (locks.exclusive && size > 0)) locks.bad_field = "shared.count";
  return locks;
}

/// Likewise.
std::vector<Share> LocksIn(const LockState& lock) {
  if (!lock.HasLockId() || lock.IsShared()) return lock.shares;
  return {{lock.lock_id, lock.granted, lock.lease, lock.owner, {}, lock.version}};
}

bson_value_t NewObjectId() {
  bson_value_t value{};
  value.value_type = BSON_TYPE_OID;
  bson_oid_init(&value.value.v_oid, nullptr);
  return value;
}

/// A lock without a holder.
Doc Blank() {
  Doc lock;
  for (const LayoutField& field : kLockFields) lock.AddNull(field.name);
  return std::move(lock.Add("acquired", false));
}

/// In place of what stands there, of which nothing is kept.
Doc InPlace(const Doc& value) { return Call("$mergeObjects", value); }

/// Unlike any other.
Doc NewBlank() { return InPlace(Blank().Add("_id", NewObjectId())); }

Doc Shared(const Array& locks) {
  Doc shared = Doc::Of("count", static_cast<std::int64_t>(locks.size()));
  return InPlace(shared.Add("locks", locks));
}

void AddText(Doc& lock, const char* field, const std::string& text) {
  text.empty() ? lock.AddNull(field) : lock.Add(field, Doc::Of("$literal", text));
}

Doc Granted(const Share& share) {
  const LockHolder holder = share.owner ? *share.owner : LockHolder{};
  Doc lock = Doc::Of("lockId", boost::uuids::to_string(share.id));
  AddText(lock, "owner", holder.name);
  AddText(lock, "host", holder.host);
  lock.Add("comment", CommentOf(holder.pid, share.fence)).Add("createdAt", "$$NOW");
  lock.AddNull("renewedAt").Add("expiresAt", AfterNow(share.lease.ttl + kMargin));
  lock.Add("acquired", true).Add("_id", NewObjectId());
  return InPlace(lock);
}

/// Never shorter than it is.
template <class Lock, class End>
Doc Renewed(const Lock& lock, const End& end, milliseconds length) {
  Doc fields;
  fields.Add("expiresAt", Call("$max", end, AfterNow(length))).Add("renewedAt", "$$NOW");
  return Call("$mergeObjects", lock, fields);
}

/// @param before what `locks` was read as
Doc LockOf(const Share& share, const std::vector<Share>& before, const Locks& locks) {
  const auto was = std::find_if(before.begin(), before.end(),
                                [&](const Share& one) { return one.id == share.id; });
  if (was == before.end()) return Granted(share);
  const Doc& stored = locks.stored.at(static_cast<std::size_t>(was - before.begin()));
  Doc literal = Doc::Of("$literal", stored);
  // One without an end has none afterwards.
  const bool ends = HasType(*stored.get(), "expiresAt", BSON_TYPE_DATE_TIME);
  if (was->lease == share.lease || !ends) return literal;
  return Renewed(literal, DateOf(DateAt(*stored.get(), "expiresAt")),
                 share.lease.ttl + MarginOf(*stored.get()));
}

/// mongo-lock by Square (Go). A document for each resource, which stays: `resource` (its name),
/// `exclusive` (a lock, or one that is not acquired) and `shared` (`count`, and `locks` as many). A
/// lock has lockId, owner, host, comment (texts or null), createdAt, renewedAt, expiresAt (dates or
/// null; null: for ever), acquired, and an _id by which theirs sorts. Their callers pause as they
/// like.
///
/// **Clocks.** Their clients decide by their own, which may differ from the server's by kMargin. A
/// lock of ours is stored as one that ends that much later than its lease does, and theirs is over
/// that much after it says so. Ours are known by their comment.
///
/// **The fence** of a grant stands in the comment too. A vacant document gets an _id within
/// `exclusive`, and so does one that is shared with each grant: so a write notices every grant of
/// ours since its look.
class MongoLockLayout final : public Layout {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "mongolock"; }
  [[nodiscard]] const char* library() const noexcept override { return "square/mongo-lock"; }
  [[nodiscard]] const char* key_field() const noexcept override { return "resource"; }
  [[nodiscard]] bool has_shares() const noexcept override { return true; }

  [[nodiscard]] LockState Read(const bson_t& doc, std::int64_t now,
                               std::string& bad_field) const override {
    LockState lock;
    Locks locks = LocksIn(doc, now);
    bad_field = std::move(locks.bad_field);
    if (!bad_field.empty() || locks.shares.empty()) return lock;
    for (const Share& share : locks.shares) lock.version = std::max(lock.version, share.fence);
    lock.lock_id = locks.exclusive ? locks.shares.front().id : kSharedLockId;
    lock.fence = locks.exclusive ? lock.version : 0;
    lock.shares = std::move(locks.shares);
    rules::Cover(lock, kLookedAt);
    if (locks.exclusive) lock.shares.clear();
    return lock;
  }

  void AddLook(Doc& command) const override {
    // A document that is being made has no _id yet.
    const Doc is_new = Call("$eq", Doc::Of("$type", "$_id"), "missing");
    const Doc is_blank =
        And(Call("$eq", "$exclusive.acquired", false),
            Call("$eq", Doc::Of("$type", "$exclusive._id"), "missing"),
            TypeIn("exclusive", {"object"}), TypeIn("shared", {"object"}), AreSharesWellFormed());
    const Doc named = Call("$mergeObjects", "$exclusive", Doc::Of("_id", NewObjectId()));
    Doc set;
    set.Add(kExclusive,
            Conditional(is_new, NewBlank(), Conditional(is_blank, named, "$exclusive")));
    set.Add(kShared, Conditional(is_new, Shared({}), "$shared"));
    command.Add("update", Array().Add(SetStage(set)));
  }

  [[nodiscard]] Statement Change(const Key& key, const bson_t& seen, const LockState& was,
                                 const LockState& now) const override {
    Doc guard = ByKey(*this, key);
    AddAsSeen(guard, kExclusive, seen);
    AddAsSeen(guard, kShared, seen);
    const Locks locks = LocksIn(seen, 0);
    Array shares;
    Doc exclusive = NewBlank();
    for (const Share& share : LocksIn(now)) {
      Doc lock = LockOf(share, LocksIn(was), locks);
      if (now.IsShared()) shares.Add(lock);
      if (!now.IsShared()) exclusive = std::move(lock);
    }
    Doc set;
    set.Add(kExclusive, exclusive).Add(kShared, Shared(shares));
    return {Verb::kUpdate, StageOn(guard, SetStage(set))};
  }

  [[nodiscard]] Doc Renewal(const RenewOp& op) const override {
    const std::string id = boost::uuids::to_string(op.request.lock_id);
    const milliseconds length = op.request.ttl + kMargin;
    Doc filter = ByKey(*this, *op.key), set;
    if (op.request.mode == LockMode::kExclusive) {
      filter.Add("exclusive.lockId", Equals(id))
          .Add("exclusive.expiresAt", Doc::Of("$type", "date"));
      filter.Add("$expr", Call("$gt", "$exclusive.expiresAt", AfterNow(kMargin)));
      set.Add(kExclusive, Renewed("$exclusive", "$exclusive.expiresAt", length));
    } else {
      const Doc is_mine = Call("$eq", "$$this.lockId", id);
      const Doc is_live = Call("$gt", "$$this.expiresAt", AfterNow(kMargin));
      Doc mine = Doc::Of("lockId", Equals(id));
      mine.Add("expiresAt", Doc::Of("$type", "date"));
      filter.Add("shared.locks", Doc::Of("$elemMatch", mine));
      filter.Add("$expr", Doc::Of("$anyElementTrue",
                                  Array().Add(Mapped("$shared.locks", And(is_mine, is_live)))));
      set.Add(
          "shared.locks",
          Mapped("$shared.locks",
                 Conditional(is_mine, Renewed("$$this", "$$this.expiresAt", length), "$$this")));
    }
    return StageOn(filter, SetStage(set));
  }

  [[nodiscard]] Statement Release(const WriteOp& op) const override {
    const std::string id = boost::uuids::to_string(op.request.lock_id);
    Doc filter = ByKey(*this, *op.key), update, statement;
    if (op.request.mode == LockMode::kExclusive) {
      filter.Add("exclusive.lockId", Equals(id));
      update.Add("$set", Doc::Of(kExclusive, Blank()));
    } else {
      filter.Add("shared.locks.lockId", Equals(id));
      update.Add("$inc", Doc::Of("shared.count", -1));
      update.Add("$pull", Doc::Of("shared.locks", Doc::Of("lockId", Equals(id))));
    }
    statement.Add("q", filter).Add("u", update);
    return {Verb::kUpdate, std::move(statement)};
  }

  [[nodiscard]] Doc Index() const override {
    Doc index = Doc::Of("key", Doc::Of("resource", 1));
    index.Add("name", "resource_1").Add("unique", true).Add("sparse", true);
    return index;
  }
};

}  // namespace

std::unique_ptr<const Layout> MongoLock() { return std::make_unique<MongoLockLayout>(); }

}  // namespace doclock::mongodb
