#include "mongodb/protocol/queue_stages.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>

#include "mongodb/bson/uuid_bounds.h"
#include "mongodb/bson/wake_id.h"
#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/lock_fields.h"
#include "mongodb/protocol/lock_filters.h"
#include "mongodb/protocol/share_filters.h"
#include "mongodb/protocol/stored_lock.h"
#include "mongodb/protocol/update.h"

namespace doclock::mongodb {
namespace {

constexpr std::int64_t kMostEntries = kMaxQueueEntries;

Doc Let(const Doc& vars, const Doc& in) {
  Doc args;
  args.Add("vars", vars).Add("in", in);
  return Doc::Of("$let", args);
}

/// The entry is sound, and its time is not over.
Doc IsLiveEntry() {
  const Doc low = BinaryOperator("$gt", std::string_view("$$this.id"), Uuid{});
  const Doc high = BinaryOperator("$lte", std::string_view("$$this.id"), HighestUuid());
  const Doc own = BinaryOperator("$ne", std::string_view("$$this.id"), kSharedLockId);
  const Doc date = TypeIn("$this.until", {"date"});
  const Doc live =
      BinaryOperator("$gt", std::string_view("$$this.until"), std::string_view("$$NOW"));
  const Doc ttl = NumberUpTo("$this.ttl", kLongestTtlMs);
  return And({&low, &high, &own, &date, &live, &ttl});
}

Doc IsEntryOf(const Uuid& id) { return BinaryOperator("$eq", std::string_view("$$this.id"), id); }

Doc FilteredQueue(const Collection& collection, const Doc& condition) {
  const std::string& queue = collection.fields().queue;
  Doc input;
  input.Add("0", TypeIn(queue, {"array"})).Add("1", FieldPath(queue)).AddArray("2", Doc());
  Doc args;
  args.Add("input", Doc::OfArray("$cond", input)).Add("cond", condition);
  return Doc::Of("$filter", args);
}

Doc LiveEntries(const Collection& collection) { return FilteredQueue(collection, IsLiveEntry()); }

Doc LiveEntriesBut(const Collection& collection, const Uuid& id) {
  const Doc live = IsLiveEntry();
  const Doc other = BinaryOperator("$ne", std::string_view("$$this.id"), id);
  return FilteredQueue(collection, And({&other, &live}));
}

Doc IsHeldBy(const Collection& collection, const Uuid& id) {
  return BinaryOperator("$eq", std::string_view(FieldPath(collection.fields().id)), id);
}

/// Of a document whose lock fields are sound.
Doc IsOver(const Collection& collection) {
  const LockFieldNames& names = collection.fields();
  Doc ttl;
  ttl.Add("0", FieldPath(names.ttl)).Add("1", std::int64_t{collection.default_ttl().count()});
  return Or(IsNothing(names.id),
            BinaryOperator("$gte", AgeOf(names.time), Doc::OfArray("$ifNull", ttl)));
}

/// The same: an exclusive attempt can be granted the lock.
Doc IsFree(const Collection& collection) {
  const Doc over = IsOver(collection), open = OpenExpr(collection);
  return And({&over, &open});
}

Doc NextVersionOf(const std::string& version) {
  Array known;
  known.Add(std::string_view(FieldPath(version))).Add(std::int64_t{0});
  return BinaryOperator("$add", Doc::OfArray("$ifNull", known.doc()), std::int64_t{1});
}

/// Does the stage that grants raise the version, or did an earlier one?
enum class Raise : std::uint8_t { kYes, kNo };

/// Grants the lock to the first of a queue. Its first stage puts what the others need in place of
/// the queue: { live: the entries, first: the first of them, go: is it granted the lock? }.
class FirstGrant {
 public:
  explicit FirstGrant(const Collection& collection)
      : names_(collection.fields()), queue_(FieldPath(collection.fields().queue)) {}

  /// @param queue an expression for the live entries
  /// @param may an expression: may the first be granted the lock?
  void AddDecision(Array& stages, const Doc& queue, const Doc& may) const {
    Array first, any;
    first.Add(std::string_view("$$live")).Add(0);
    any.Add(Doc::Of("$size", "$$live")).Add(0);
    const Doc some = Doc::OfArray("$gt", any.doc());
    Doc in;
    in.Add("live", "$$live").Add("first", Doc::OfArray("$arrayElemAt", first.doc()));
    in.Add("go", And({&some, &may}));
    stages.Add(Stage(Doc::Of(names_.queue, Let(Doc::Of("live", queue), in))));
  }

  /// @param otherwise the lock's id if nothing is granted: an expression, or nullptr for null
  /// @param own the entry of the attempt itself, which is granted its whole lease
  template <class Otherwise>
  void AddGrant(Array& stages, const Otherwise& otherwise, Raise raise, const Uuid* own) const {
    Doc set, id;
    id.Add("0", go()).Add("1", queue_ + ".first.id");
    if constexpr (std::is_null_pointer_v<Otherwise>) {
      id.AddNull("2");
    } else {
      id.Add("2", otherwise);
    }
    set.Add(names_.id, Doc::OfArray("$cond", id));
    Set(set, names_.time, std::string_view("$$NOW"));
    Set(set, names_.ttl, Ttl(own));
    Set(set, names_.owner, Owner());
    Set(set, names_.group, queue_ + ".first.group");
    Set(set, names_.closed, Closed());
    Set(set, names_.readers, std::string_view("$$REMOVE"));
    Set(set, names_.intent, std::string_view("$$REMOVE"));
    Set(set, names_.passed, Passed(own));
    if (raise == Raise::kYes) Set(set, names_.version, NextVersionOf(names_.version));
    Array tail;
    tail.Add(queue_ + ".live").Add(1).Add(kMostEntries + 1);
    set.Add(names_.queue, Conditional(Go(), Doc::OfArray("$slice", tail.doc()), queue_ + ".live"));
    stages.Add(Stage(set));
  }

  /// An empty queue is none.
  void AddTidying(Array& stages) const {
    Doc empty;
    empty.Add("0", queue_).AddArray("1", Doc());
    stages.Add(Stage(Doc::Of(names_.queue, Conditional(Doc::OfArray("$eq", empty),
                                                       std::string_view("$$REMOVE"), queue_))));
  }

 private:
  static Doc Stage(const Doc& set) { return Doc::Of("$set", set); }
  [[nodiscard]] std::string go() const { return queue_ + ".go"; }
  /// The field's value as a condition.
  [[nodiscard]] Doc Go() const { return Doc::OfArray("$and", Array().Add(go()).doc()); }
  template <class Value>
  void Set(Doc& set, const std::string& field, const Value& value) const {
    set.Add(field, Conditional(Go(), value, FieldPath(field)));
  }
  [[nodiscard]] Doc IsOwn(const Uuid& own) const {
    return BinaryOperator("$eq", queue_ + ".first.id", own);
  }
  [[nodiscard]] Doc Ttl(const Uuid* own) const {
    Doc probation = BinaryOperator("$min", queue_ + ".first.ttl", std::int64_t{kProbation.count()});
    if (own == nullptr) return probation;
    return Conditional(IsOwn(*own), queue_ + ".first.ttl", probation);
  }
  [[nodiscard]] Doc Owner() const {
    Doc either;
    either.Add("0", queue_ + ".first.owner").AddNull("1");
    return Doc::OfArray("$ifNull", either);
  }
  [[nodiscard]] Doc Closed() const {
    const std::string hold = names_.queue + ".first.hold";
    const Doc end = BinaryOperator("$add", std::string_view("$$NOW"), FieldPath(hold));
    // The min_hold of an earlier grant is over.
    return Conditional(NumberUpTo(hold, kLongestTtlMs), end, std::string_view("$$REMOVE"));
  }
  /// Does not tell the attempt itself, which has the answer.
  [[nodiscard]] Doc Passed(const Uuid* own) const {
    const std::string wake = queue_ + ".first.wake";
    if (own == nullptr)
      return Doc::OfArray("$ifNull", Array().Add(wake).Add(std::string_view("$$REMOVE")).doc());
    return Conditional(IsOwn(*own), FieldPath(names_.passed), wake);
  }

  const LockFieldNames& names_;
  const std::string queue_;
};

}  // namespace

void AddNoQueue(Doc& filter, const Collection& collection) {
  filter.Add(collection.fields().queue, Doc::Of("$exists", false));
}

Doc NobodyWaitsExpr(const Collection& collection) {
  const Doc none = BinaryOperator("$eq", Doc::Of("$size", LiveEntries(collection)), 0);
  return Or(IsNothing(collection.fields().queue), none);
}

void AddEntryRemoval(Array& stages, const Collection& collection, const Uuid& id) {
  stages.Add(Doc::Of("$set", Doc::Of(collection.fields().queue, LiveEntriesBut(collection, id))));
  FirstGrant(collection).AddTidying(stages);
}

void AddPassOn(Array& stages, const Collection& collection) {
  const FirstGrant grant(collection);
  grant.AddDecision(stages, LiveEntries(collection), OpenExpr(collection));
  grant.AddGrant(stages, nullptr, Raise::kNo, nullptr);
  grant.AddTidying(stages);
}

void AddLeave(Array& stages, const Collection& collection, const Uuid& id, const Uuid& mark) {
  const LockFieldNames& names = collection.fields();
  const Doc held = IsHeldBy(collection, id);
  Doc set;
  set.Add(names.version, Conditional(held, NextVersionOf(names.version), FieldPath(names.version)));
  set.Add(names.released, Conditional(held, mark, FieldPath(names.released)));
  stages.Add(Doc::Of("$set", set));
  const FirstGrant grant(collection);
  const Doc open = OpenExpr(collection);
  grant.AddDecision(stages, LiveEntriesBut(collection, id), And({&held, &open}));
  Doc otherwise;
  otherwise.Add("0", held).AddNull("1").Add("2", FieldPath(names.id));
  grant.AddGrant(stages, Doc::OfArray("$cond", otherwise), Raise::kNo, nullptr);
  grant.AddTidying(stages);
}

Doc Turn::Filter() const {
  const Collection& collection = *op_.collection;
  const LockFieldNames& names = collection.fields();
  Doc filter;
  filter.Add("_id", Equals(*op_.key));
  AddGoodFields(filter, collection);
  const Doc lease = Or(IsNothing(names.id), GoodLeaseExpr(collection));
  const Doc closed = TypeIn(names.closed, {"missing", "null", "date"});
  const Doc shares = SoundSharesExpr(collection);
  filter.Add("$expr", And({&lease, &closed, &shares}));
  return filter;
}

void Turn::AddStages(Array& stages) const {
  const Collection& collection = *op_.collection;
  const FirstGrant grant(collection);
  grant.AddDecision(stages, QueueWithEntry(), IsFree(collection));
  grant.AddGrant(stages, FieldPath(collection.fields().id), Raise::kYes, &op_.grant.lock_id);
  if (!waits()) {
    Doc args;
    args.Add("input", FieldPath(collection.fields().queue));
    args.Add("cond", BinaryOperator("$ne", std::string_view("$$this.id"), op_.grant.lock_id));
    stages.Add(Doc::Of("$set", Doc::Of(collection.fields().queue, Doc::Of("$filter", args))));
  }
  grant.AddTidying(stages);
}

Doc Turn::Entry() const {
  const GrantRequest& grant = op_.grant;
  Doc entry;
  entry.Add("id", grant.lock_id);
  // An attempt that does not wait stands in the queue only while this command decides.
  entry.Add("until",
            BinaryOperator("$add", std::string_view("$$NOW"),
                           std::int64_t{std::max<std::int64_t>(grant.queue_for.count(), 1)}));
  entry.Add("ttl", grant.ttl);
  if (grant.min_hold.count() > 0) entry.Add("hold", grant.min_hold);
  if (grant.owner) entry.Add("owner", Doc::Of("$literal", OwnerDoc(*grant.owner)));
  if (!grant.group.empty()) entry.Add("group", Doc::Of("$literal", grant.group));
  WakeId(instance_, grant.lock_id).AddTo(entry, "wake");
  return entry;
}

/// The live entries with the attempt's own: in its place, or as the last.
Doc Turn::QueueWithEntry() const {
  const Collection& collection = *op_.collection;
  const Uuid& id = op_.grant.lock_id;
  const Doc entry = Entry();
  Doc map;
  map.Add("input", "$$others")
      .Add("in", Conditional(IsEntryOf(id), entry, std::string_view("$$this")));
  Doc both;
  both.Add("0", "$$others").AddArray("1", Array().Add(entry).doc());
  const Doc known = BinaryOperator("$in", id, std::string_view("$$others.id"));
  const Doc placed = Conditional(known, Doc::Of("$map", map), Doc::OfArray("$concatArrays", both));
  // The holder does not wait. A lock of this id that is over counts as another's.
  const Doc held = IsHeldBy(collection, id), over = IsOver(collection);
  const Doc holds = Conditional(held, Doc::OfArray("$not", Array().Add(over).doc()), false);
  Doc in = Conditional(holds, std::string_view("$$others"), placed);
  if (waits()) {
    // The grant of a free lock to the first makes room for one.
    const Doc most = Conditional(IsFree(collection), kMostEntries + 1, kMostEntries);
    const Doc full = BinaryOperator("$gte", Doc::Of("$size", "$$others"), most);
    const Doc unknown = Doc::OfArray("$not", Array().Add(known).doc());
    in = Conditional(And({&full, &unknown}), std::string_view("$$others"), in);
  }
  return Let(Doc::Of("others", LiveEntries(collection)), in);
}

/// Is the lock free, and the attempt first or alone?
Doc Turn::Granted() const {
  const Collection& collection = *op_.collection;
  Array first;
  first.Add(std::string_view("$$live.id")).Add(0);
  const Doc alone = BinaryOperator("$eq", Doc::Of("$size", "$$live"), 0);
  const Doc mine =
      BinaryOperator("$eq", Doc::OfArray("$arrayElemAt", first.doc()), op_.grant.lock_id);
  const Doc turn = Let(Doc::Of("live", LiveEntries(collection)), Or(alone, mine));
  const Doc free = IsFree(collection);
  return And({&free, &turn});
}

Doc Turn::Projection() const {
  const LockFieldNames& names = op_.collection->fields();
  const Doc granted = Granted();
  Doc fields;
  for (const std::string* field : LockFields(names)) fields.Add(*field, FieldPath(*field));
  const Doc mine = Or(granted, IsHeldBy(*op_.collection, op_.grant.lock_id));
  Doc projection;
  projection.Add("granted", granted).Add("now", "$$NOW");
  projection.Add("doc", Conditional(mine, std::string_view("$$ROOT"), fields));
  return projection;
}

}  // namespace doclock::mongodb
