#include "mongodb/notifications/lock_events.h"

#include <string>
#include <string_view>

#include "mongodb/bson/body_codec.h"
#include "mongodb/bson/bson.h"
#include "mongodb/statements/expressions.h"
#include "mongodb/statements/stored_lock.h"

namespace doclock::mongodb {
namespace {

/// A grant's event carries the document up to this size; the waiter reads a larger one.
constexpr std::int64_t kMostBytes = 16 * 1024;

constexpr const char* kUpdated = "updateDescription.updatedFields.";
constexpr const char* kAfter = "fullDocument.";

/// A first filter, of the fields that the oplog has: the server looks up a document for
/// what passes it, and for nothing else.
///
/// Of updates it matches locks that become null, grants from a queue to this instance, and released
/// shares, and saves. A renewal sets no lock id, and a plain null would match it. The release of
/// one share of many and a save change lockReleased, and not the lock's id, as a hand-over does.
Doc MatchInOplog(const LockFieldNames& names, const Uuid& instance) {
  const std::string updated = kUpdated;
  Array any;
  any.Add(Doc::Of(updated + names.id, Doc::Of("$type", "null")));
  any.Add(Doc::Of(updated + names.passed, WakeId::AllOf(instance)));
  Doc left;
  left.Add(updated + names.released, Doc::Of("$exists", true));
  left.Add(updated + names.id, Doc::Of("$exists", false));
  Doc other;
  other.AddStrings("$in", {"delete", "insert", "replace"});
  any.Add(left).Add(Doc::Of("operationType", other));
  return Doc::Of("$or", any);
}

/// The server logs an update as a replacement where that is shorter, which says no more than the
/// document after it.
Doc MatchReplaced(const LockFieldNames& names, const Uuid& instance) {
  const std::string after = kAfter;
  Array any;
  any.Add(Doc::Of("operationType", Doc::Of("$ne", "replace")));
  any.Add(Doc::OfNull(after + names.id)).Add(Doc::Of(after + names.id, Equals(kSharedLockId)));
  any.Add(Doc::Of(after + names.passed, WakeId::AllOf(instance)));
  return Doc::Of("$or", any);
}

/// The whole document where it is small and locked, and was last passed to this instance.
Doc DocumentAfter(const LockFieldNames& names, const Uuid& instance) {
  const Doc small = Call("$lte", Doc::Of("$bsonSize", "$fullDocument"), kMostBytes);
  const Doc locked = Not(IsNothing(kAfter + names.id));
  return Conditional(And(WakeId::IsOf(instance, kAfter + names.passed), locked, small),
                     "$fullDocument", Doc::Of(names.passed, FieldPath(kAfter + names.passed)));
}

/// Adds what the document shows of the grant. Looked up later than that was made, it may show what
/// came after.
void Fill(GrantSeen& grant, const bson_t& document, const Collection& collection) {
  const StoredLock lock = ReadStoredLock(document, collection, 0);
  if (lock.malformed() || lock.lock_id != grant.lock_id) return;
  try {
    grant.body = Body::FromJson(ReadBody(document, collection.fields()));
  } catch (const DocumentException&) {
    return;  // the waiter's attempt fails by it
  }
  grant.version = lock.version;
  grant.born = lock.born;
}

}  // namespace

Doc LockEvents(const LockFieldNames& names, const Uuid& instance) {
  Doc project;
  project.Add("documentKey", 1).Add(kUpdated + names.passed, 1);
  project.Add("fullDocument", DocumentAfter(names, instance));
  Array stages;
  stages.Add(Doc::Of("$match", MatchInOplog(names, instance)));
  stages.Add(Doc::Of("$match", MatchReplaced(names, instance)));
  stages.Add(Doc::Of("$project", project));
  return Doc::Of("pipeline", stages);
}

std::optional<GrantSeen> GrantIn(const bson_t& event, const Collection& collection) {
  const std::string& name = collection.fields().passed;
  bson_t update, fields, document;
  bson_iter_t passed;
  const bool has_document = FindDocument(event, "fullDocument", document);
  const bool updated = FindDocument(event, "updateDescription", update) &&
                       FindDocument(update, "updatedFields", fields);
  if (!updated && !has_document) return std::nullopt;
  if (!FindField(updated ? fields : document, name, passed)) return std::nullopt;
  const std::optional<Uuid> lock_id = WakeId::LockIdIn(passed);
  if (!lock_id) return std::nullopt;
  GrantSeen grant{.lock_id = *lock_id};
  if (has_document) Fill(grant, document, collection);
  return grant;
}

std::optional<std::size_t> KeyHashIn(const bson_t& event) {
  bson_t key;
  bson_iter_t id;
  Key known;
  if (!FindDocument(event, "documentKey", key) || !FindField(key, "_id", id) ||
      !ReadKey(id, known)) {
    return std::nullopt;
  }
  return known.Hash();
}

}  // namespace doclock::mongodb
