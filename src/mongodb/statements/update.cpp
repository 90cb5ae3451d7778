#include "mongodb/statements/update.h"

#include "document/json/same_json.h"
#include "mongodb/bson/body_codec.h"
#include "mongodb/statements/expressions.h"
#include "mongodb/statements/queue.h"

namespace doclock::mongodb {
Doc OwnerDoc(const LockHolder& owner) {
  Doc doc;
  doc.Add("name", std::string_view(owner.name));
  doc.Add("host", std::string_view(owner.host));
  doc.Add("pid", owner.pid);
  return doc;
}

void Update::Grant(const GrantRequest& grant) {
  const LockFieldNames& names = collection_.fields();
  set_.Add(names.id, grant.lock_id).Add(names.ttl, grant.ttl);
  if (grant.owner) {
    set_.Add(names.owner, OwnerDoc(*grant.owner));
  } else {
    set_.AddNull(names.owner);
  }
  if (grant.group.empty()) {
    unset_.push_back(names.group);
  } else {
    set_.Add(names.group, std::string_view(grant.group));
  }
  now_ = true;
  if (grant.min_hold.count() > 0) closed_in_ = grant.min_hold;
}

void Update::ReleaseToFirst(const Uuid& mark) {
  set_.Add(collection_.fields().released, mark);
  grants_to_first_ = true;
}

void Update::HandOver(const Uuid& mark, const GrantRequest& grant) {
  set_.Add(collection_.fields().released, mark);
  if (!grant.entry.is_nil()) entry_ = grant.entry;
  Grant(grant);
}

void Update::RestartLease(std::chrono::milliseconds ttl) {
  set_.Add(collection_.fields().ttl, ttl);
  now_ = true;
}

void Update::Cover(const bson_t& share) {
  bson_iter_t time, ttl;
  if (!FindField(share, "time", time) || !FindField(share, "ttl", ttl)) return;
  set_.Add(collection_.fields().time, *bson_iter_value(&time));
  set_.Add(collection_.fields().ttl, *bson_iter_value(&ttl));
}

void Update::Keep(const std::string& array, const Array& entries) {
  if (entries.size() == 0) {
    unset_.push_back(array);
  } else {
    set_.Add(array, entries);
  }
}

void Update::Wake(const Doc& wake) {
  bson_iter_t at;
  if (FindField(*wake.get(), "wake", at)) {
    set_.Add(collection_.fields().passed, *bson_iter_value(&at));
  } else {
    unset_.push_back(collection_.fields().passed);
  }
}

void Update::KeepFence(const Uuid& lock_id, std::int64_t fence) {
  set_.Add(collection_.fields().fence, Doc::Of("of", lock_id).Add("at", fence));
}

void Update::ReplaceBody(const Body& body, const Body& base) {
  if (!base) {
    replacement_.emplace();
    AppendMembers(*replacement_, TreeForBson(body));
    return;
  }
  const nlohmann::json& after = TreeForBson(body);
  const nlohmann::json& before = base.json();
  for (const auto& [name, value] : after.items()) {
    const auto known = before.find(name);
    if (known == before.end() || !detail::IsSameJson(*known, value)) {
      AppendValue(set_, name, value);
    }
  }
  for (const auto& [name, value] : before.items()) {
    if (!after.contains(name)) unset_.push_back(name);
  }
}

void Update::MergeBody(const Body& fields) { AppendMembers(set_, TreeForBson(fields)); }

void Update::OnInsert(const Body& body, const Uuid& born) {
  AppendMembers(on_insert_, TreeForBson(body));
  on_insert_.Add(collection_.fields().born, born);
}

void Update::AddTo(Doc& target, std::string_view name) const {
  if (needs_pipeline()) {
    target.Add(name, Pipeline());
  } else {
    target.Add(name, Modifiers());
  }
}

Doc Update::Modifiers() const {
  const LockFieldNames& names = collection_.fields();
  Doc update;
  if (!set_.empty()) update.Add("$set", set_);
  if (!unset_.empty()) {
    Doc unset;
    for (const std::string& field : unset_) unset.Add(field, true);
    update.Add("$unset", unset);
  }
  if (now_) update.Add("$currentDate", Doc::Of(names.time, true));
  if (raise_) update.Add("$inc", Doc::Of(names.version, std::int64_t{1}));
  if (!on_insert_.empty()) update.Add("$setOnInsert", on_insert_);
  return update;
}

Array Update::Pipeline() const {
  const LockFieldNames& names = collection_.fields();
  Array stages;
  if (replacement_) stages.Add(Doc::Of("$replaceWith", Replacement()));
  Doc set;
  bson_iter_t iter;
  bson_iter_init(&iter, set_.get());
  while (bson_iter_next(&iter)) {
    set.Add(bson_iter_key(&iter), Doc::Of("$literal", *bson_iter_value(&iter)));
  }
  if (now_) set.Add(names.time, "$$NOW");
  if (closed_in_) {
    // The min_hold of an earlier grant, which a hand-over meets, may last longer.
    set.Add(names.closed, Call("$max", FieldPath(names.closed),
                               Call("$add", "$$NOW", std::int64_t{closed_in_->count()})));
  }
  if (raise_) set.Add(names.version, NextVersion(names.version));
  if (!set.empty()) stages.Add(Doc::Of("$set", set));
  for (const std::string& field : unset_) {
    if (closed_in_ && field == names.closed) continue;
    // $unset takes paths; this library writes no names with '$' or '.'.
    stages.Add(Doc::Of("$unset", std::string_view(field)));
  }
  if (entry_) AddEntryRemoval(stages, collection_, *entry_);
  if (grants_to_first_) AddGrantToFirst(stages, collection_);
  return stages;
}

/// The document's key and lock as they are, and the new body.
Doc Update::Replacement() const {
  return Call("$mergeObjects", LockFieldsExpr(collection_.fields()), Doc::Of("_id", "$_id"),
              Doc::Of("$literal", *replacement_));
}

}  // namespace doclock::mongodb
