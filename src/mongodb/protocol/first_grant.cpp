#include "mongodb/protocol/first_grant.h"

#include <string_view>

#include "mongodb/protocol/queue_entries.h"
#include "mongodb/protocol/stored_lock.h"
#include "mongodb/protocol/update.h"

namespace doclock::mongodb {
namespace {

Doc FirstOf(std::string_view queue) {
  return Doc::OfArray("$arrayElemAt", Array().Add(queue).Add(0).doc());
}

}  // namespace

Doc FirstGrant::FirstIsExclusive(std::string_view queue) {
  return Let(Doc::Of("head", FirstOf(queue)), IsNothing("$head.share"));
}

Doc FirstGrant::Decision(const Doc& queue, const Doc& may, const Doc& more) {
  const Doc some = BinaryOperator("$gt", Doc::Of("$size", "$$live"), 0);
  const Doc exclusive = FirstIsExclusive("$$live");
  Doc in;
  in.Add("live", "$$live").Add("first", FirstOf("$$live"));
  in.Add("go", And({&some, &exclusive, &may}));
  bson_concat(in.get(), more.get());
  return Let(Doc::Of("live", queue), in);
}

void FirstGrant::AddDecision(Array& stages, const Doc& decision) const {
  stages.Add(SetStage(Doc::Of(names_.queue, decision)));
}

void FirstGrant::AddGrantOf(Array& stages, const Doc& id, Raise raise, const Uuid* own) const {
  const auto& where = where_go_;
  Doc set;
  set.Add(names_.id, id);
  where.Set(set, names_.time, std::string_view("$$NOW"));
  where.Set(set, names_.ttl, Ttl(own));
  where.Set(set, names_.owner, Owner());
  where.Set(set, names_.group, queue_ + ".first.group");
  where.Set(set, names_.closed, Closed());
  where.Set(set, names_.readers, std::string_view("$$REMOVE"));
  where.Set(set, names_.passed, Passed(own));
  if (raise == Raise::kYes) where.Set(set, names_.version, NextVersion(names_.version));
  Array tail;
  tail.Add(queue_ + ".live").Add(1).Add(kMostEntries + 1);
  set.Add(names_.queue,
          Conditional(where.Flag(), Doc::OfArray("$slice", tail.doc()), queue_ + ".live"));
  stages.Add(SetStage(set));
}

void FirstGrant::AddTidying(Array& stages) const {
  Doc empty;
  empty.Add("0", queue_).AddArray("1", Doc());
  stages.Add(SetStage(Doc::Of(names_.queue, Conditional(Doc::OfArray("$eq", empty),
                                                        std::string_view("$$REMOVE"), queue_))));
}

Doc FirstGrant::IsOwn(const Uuid& own) const {
  return BinaryOperator("$eq", queue_ + ".first.id", own);
}

Doc FirstGrant::Ttl(const Uuid* own) const {
  Doc probation = BinaryOperator("$min", queue_ + ".first.ttl", std::int64_t{kProbation.count()});
  if (own == nullptr) return probation;
  return Conditional(IsOwn(*own), queue_ + ".first.ttl", probation);
}

Doc FirstGrant::Owner() const {
  Doc either;
  either.Add("0", queue_ + ".first.owner").AddNull("1");
  return Doc::OfArray("$ifNull", either);
}

Doc FirstGrant::Closed() const {
  const std::string hold = names_.queue + ".first.hold";
  const Doc end = BinaryOperator("$add", std::string_view("$$NOW"), FieldPath(hold));
  // The min_hold of an earlier grant is over.
  return Conditional(NumberUpTo(hold, kLongestTtlMs), end, std::string_view("$$REMOVE"));
}

/// Does not tell the attempt itself, which has the answer.
Doc FirstGrant::Passed(const Uuid* own) const {
  const std::string wake = queue_ + ".first.wake";
  if (own == nullptr) {
    return Doc::OfArray("$ifNull", Array().Add(wake).Add(std::string_view("$$REMOVE")).doc());
  }
  return Conditional(IsOwn(*own), FieldPath(names_.passed), wake);
}

}  // namespace doclock::mongodb
