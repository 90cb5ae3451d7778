/// Locks on MongoDB without doclock, over libmongoc as a program uses it, with its retryable
/// writes:
///
/// - "by hand": findAndModify takes a document's lock, an update stores the document and unlocks; a
///   waiter asks every 50 to 150 ms.
/// - "pipeline": what DistributedLock.MongoDB (.NET) sends: an upsert by `_id` whose pipeline takes
///   the lock if it is free, and a delete; a waiter asks every 10 to 800 ms.
/// - "mongo-lock": what mongo-lock (Go) sends: an upsert by resource and state, and to unlock, an
///   aggregation that looks for the lock id and a findAndModify; a waiter asks every 50 to 150 ms
///   (the library leaves waiting to its user).
///
/// The last two are re-created here from the commands that those libraries send.

#include <mongoc/mongoc.h>

#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "mongodb/bson/bson.h"
#include "worker.h"

namespace doclock::peers {
namespace {

using mongodb::Array;
using mongodb::Doc;
using mongodb::FindDocument;

constexpr const char* kDatabase = "peers";

/// The connections of a process.
class Pool {
 public:
  explicit Pool(const std::string& url) {
    ::mongoc_init();
    mongoc_uri_t* const uri = ::mongoc_uri_new(url.c_str());
    if (uri == nullptr) throw std::runtime_error("the URL cannot be read");
    ::mongoc_uri_set_option_as_utf8(uri, MONGOC_URI_W, "majority");
    ::mongoc_uri_set_option_as_int32(uri, MONGOC_URI_MAXPOOLSIZE, 200);
    pool_ = ::mongoc_client_pool_new(uri);
    ::mongoc_uri_destroy(uri);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { ::mongoc_client_pool_destroy(pool_); }
  [[nodiscard]] mongoc_client_pool_t* get() const { return pool_; }

 private:
  mongoc_client_pool_t* pool_ = nullptr;
};

/// A collection on a connection of its own.
class Collection {
 public:
  Collection(const Pool& pool, const char* name)
      : pool_(pool),
        client_(::mongoc_client_pool_pop(pool.get())),
        collection_(::mongoc_client_get_collection(client_, kDatabase, name)) {}
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;
  ~Collection() {
    ::mongoc_collection_destroy(collection_);
    ::mongoc_client_pool_push(pool_.get(), client_);
  }

  /// Calls `visit` with the document that matched (or was inserted), as it is afterwards. Returns
  /// false if none matched, or if an upsert met a document that the filter left out.
  template <class VisitFn>
  bool FindAndModify(const Doc& filter, const Doc& update, bool upsert, VisitFn visit) {
    mongoc_find_and_modify_opts_t* const options = ::mongoc_find_and_modify_opts_new();
    ::mongoc_find_and_modify_opts_set_update(options, update.get());
    ::mongoc_find_and_modify_opts_set_flags(
        options, static_cast<mongoc_find_and_modify_flags_t>(
                     MONGOC_FIND_AND_MODIFY_RETURN_NEW |
                     (upsert ? MONGOC_FIND_AND_MODIFY_UPSERT : MONGOC_FIND_AND_MODIFY_NONE)));
    bson_t reply;
    bson_error_t error{};
    const bool sent = ::mongoc_collection_find_and_modify_with_opts(collection_, filter.get(),
                                                                    options, &reply, &error);
    bson_t value;
    const bool found = sent && FindDocument(reply, "value", value);
    if (found) visit(value);
    ::bson_destroy(&reply);
    ::mongoc_find_and_modify_opts_destroy(options);
    if (!sent && !(upsert && error.code == MONGOC_ERROR_DUPLICATE_KEY)) Fail(error);
    return found;
  }
  bool FindAndModify(const Doc& filter, const Doc& update, bool upsert = false) {
    return FindAndModify(filter, update, upsert, [](const bson_t&) {});
  }
  /// Returns whether a document matched.
  bool Update(const Doc& filter, const Doc& update) {
    return Count("matchedCount", [&](bson_t* reply, bson_error_t* error) {
      return ::mongoc_collection_update_one(collection_, filter.get(), update.get(), nullptr, reply,
                                            error);
    });
  }
  /// Returns whether a document was there.
  bool Delete(const Doc& filter) {
    return Count("deletedCount", [&](bson_t* reply, bson_error_t* error) {
      return ::mongoc_collection_delete_one(collection_, filter.get(), nullptr, reply, error);
    });
  }
  /// Returns the number of rows.
  int Aggregate(const Doc& pipeline) {
    mongoc_cursor_t* const cursor = ::mongoc_collection_aggregate(collection_, MONGOC_QUERY_NONE,
                                                                  pipeline.get(), nullptr, nullptr);
    int rows = 0;
    for (const bson_t* row = nullptr; ::mongoc_cursor_next(cursor, &row);) ++rows;
    bson_error_t error{};
    const bool failed = ::mongoc_cursor_error(cursor, &error);
    ::mongoc_cursor_destroy(cursor);
    if (failed) Fail(error);
    return rows;
  }
  void Insert(const std::vector<Doc>& documents) {
    std::vector<const bson_t*> all;
    for (const Doc& document : documents) all.push_back(document.get());
    bson_error_t error{};
    if (!::mongoc_collection_insert_many(collection_, all.data(), all.size(), nullptr, nullptr,
                                         &error)) {
      Fail(error);
    }
  }
  void CreateIndex(const char* field, bool unique) {
    Doc index;
    index.Add("key", Doc::Of(field, 1)).Add("name", field).Add("unique", unique);
    Doc command;
    command.Add("createIndexes", ::mongoc_collection_get_name(collection_))
        .Add("indexes", Array().Add(index));
    bson_error_t error{};
    if (!::mongoc_client_write_command_with_opts(client_, kDatabase, command.get(), nullptr,
                                                 nullptr, &error)) {
      Fail(error);
    }
  }

 private:
  [[noreturn]] static void Fail(const bson_error_t& error) {
    throw std::runtime_error(error.message);
  }
  template <class SendFn>
  static bool Count(const char* field, SendFn send) {
    bson_t reply;
    bson_error_t error{};
    const bool sent = send(&reply, &error);
    bson_iter_t iter;
    const bool any =
        ::bson_iter_init_find(&iter, &reply, field) && ::bson_iter_as_int64(&iter) == 1;
    ::bson_destroy(&reply);
    if (!sent) Fail(error);
    return any;
  }

  const Pool& pool_;
  mongoc_client_t* client_;
  mongoc_collection_t* collection_;
};

/// A caller, and the ids of the locks that it holds.
class MongoCaller : public Caller {
 public:
  MongoCaller(const Pool& pool, const char* collection, milliseconds ttl)
      : collection_(pool, collection), ttl_(ttl.count()) {}

 protected:
  Collection collection_;
  const std::int64_t ttl_;
  std::unordered_map<int, std::string> ids_;
};

// ------------------------------------------------------------------------- by hand

class ByHandCaller final : public MongoCaller {
 public:
  explicit ByHandCaller(const Pool& pool, milliseconds ttl) : MongoCaller(pool, "by_hand", ttl) {}

  static Doc Fresh(int key) {
    Doc document;
    document.Add("_id", key).Add("attempts", 0).Add("note", Text()).AddNull("lockId");
    return document;
  }

  bool Lock(int key, const std::stop_token& stop) override {
    const std::string id = NewId();
    const auto attempt = [&] {
      const std::int64_t now = UnixMilliseconds();
      const Doc free = Doc::OfNull("lockId");
      const Doc expired = Doc::Of("until", Doc::Of("$lte", now));
      Doc filter;
      filter.Add("_id", key).Add("$or", Array().Add(free).Add(expired));
      Doc lock;
      lock.Add("lockId", id).Add("until", now + ttl_);
      return collection_.FindAndModify(filter, Doc::Of("$set", lock), false,
                                       [&](const bson_t& document) { Read(document); });
    };
    if (!Poll(stop, kPollLeast, kPollMost, attempt)) return false;
    ids_[key] = id;
    return true;
  }
  bool Unlock(int key) override {
    Doc changed;
    changed.Add("attempts", attempts_ + 1).Add("note", Text()).AddNull("lockId");
    return collection_.Update(Mine(key), Doc::Of("$set", changed));
  }
  bool Renew(int key) override {
    return collection_.Update(Mine(key),
                              Doc::Of("$set", Doc::Of("until", UnixMilliseconds() + ttl_)));
  }

 private:
  Doc Mine(int key) {
    Doc filter;
    filter.Add("_id", key).Add("lockId", ids_[key]);
    return filter;
  }
  void Read(const bson_t& document) {
    bson_iter_t iter;
    attempts_ =
        ::bson_iter_init_find(&iter, &document, "attempts") ? ::bson_iter_as_int64(&iter) : 0;
  }

  std::int64_t attempts_ = 0;
};

// ------------------------------------------------------------------------- DistributedLock

/// { if free then `taken` else the field as it is }
Doc IfFree(const Doc& free, const Doc& taken, const char* field) {
  bson_iter_t value;
  ::bson_iter_init_find(&value, taken.get(), "v");
  return Doc::Of("$cond", Array().Add(free).Add(*::bson_iter_value(&value)).Add(field));
}

class PipelineCaller final : public MongoCaller {
 public:
  PipelineCaller(const Pool& pool, milliseconds ttl) : MongoCaller(pool, "pipeline", ttl) {}

  bool Lock(int key, const std::stop_token& stop) override {
    const auto attempt = [&] {
      const std::string id = NewId();
      bool mine = false;
      collection_.FindAndModify(Doc::Of("_id", NameOf(key)), Take(id), true,
                                [&](const bson_t& lock) { mine = Carries(lock, id); });
      if (mine) ids_[key] = id;
      return mine;
    };
    return Poll(stop, milliseconds(10), milliseconds(800), attempt);
  }
  bool Unlock(int key) override { return collection_.Delete(Mine(key)); }
  bool Renew(int key) override {
    const Doc set = Doc::Of("$set", Doc::Of("expiresAt", Later()));
    return collection_.Update(Mine(key), Array().Add(set).doc());
  }

 private:
  static std::string NameOf(int key) { return "lock/" + std::to_string(key); }
  Doc Mine(int key) {
    Doc filter;
    filter.Add("_id", NameOf(key)).Add("lockId", ids_[key]);
    return filter;
  }
  [[nodiscard]] Doc Later() const {
    Doc add;
    add.Add("startDate", "$$NOW").Add("unit", "millisecond").Add("amount", ttl_);
    return Doc::Of("$dateAdd", add);
  }
  static Doc IfNull(const char* field, const bson_value_t& otherwise) {
    return Doc::Of("$ifNull", Array().Add(field).Add(otherwise));
  }
  [[nodiscard]] Doc Take(const std::string& id) const {
    bson_value_t epoch{};
    epoch.value_type = BSON_TYPE_DATE_TIME;
    bson_value_t zero{};
    zero.value_type = BSON_TYPE_INT64;
    const Doc free = Doc::Of("$lte", Array().Add(IfNull("$expiresAt", epoch)).Add("$$NOW"));
    const Doc next = Doc::Of("$add", Array().Add(IfNull("$fencingToken", zero)).Add(1));
    Doc set;
    set.Add("lockId", IfFree(free, Doc::Of("v", id), "$lockId"))
        .Add("expiresAt", IfFree(free, Doc::Of("v", Later()), "$expiresAt"))
        .Add("acquiredAt", IfFree(free, Doc::Of("v", "$$NOW"), "$acquiredAt"))
        .Add("fencingToken", IfFree(free, Doc::Of("v", next), "$fencingToken"));
    Doc pipeline;
    pipeline.Add("0", Doc::Of("$set", set));
    return pipeline;
  }
  static bool Carries(const bson_t& lock, const std::string& id) {
    bson_iter_t iter;
    return ::bson_iter_init_find(&iter, &lock, "lockId") && BSON_ITER_HOLDS_UTF8(&iter) &&
           ::bson_iter_utf8(&iter, nullptr) == id;
  }
};

// ------------------------------------------------------------------------- mongo-lock

class MongoLockCaller final : public MongoCaller {
 public:
  MongoLockCaller(const Pool& pool, milliseconds ttl) : MongoCaller(pool, "mongo_lock", ttl) {}

  static void CreateIndexes(const Pool& pool) {
    Collection collection(pool, "mongo_lock");
    collection.CreateIndex("resource", true);
    for (const char* field : {"exclusive.lockId", "exclusive.expiresAt", "shared.locks.lockId",
                              "shared.locks.expiresAt"}) {
      collection.CreateIndex(field, false);
    }
  }

  bool Lock(int key, const std::stop_token& stop) override {
    const std::string id = NewId();
    const auto attempt = [&] {
      const std::int64_t now = UnixMilliseconds();
      const Doc free = Doc::Of("exclusive.acquired", false);
      const Doc expired = Doc::Of("exclusive.expiresAt", Doc::Of("$lte", Date(now)));
      Doc filter;
      filter.Add("resource", NameOf(key))
          .Add("$or", Array().Add(free).Add(expired))
          .Add("shared.count", 0);
      Doc shared;
      shared.Add("count", 0).AddArray("locks", Doc());
      Doc set;
      set.Add("resource", NameOf(key)).Add("exclusive", Exclusive(id, now)).Add("shared", shared);
      return collection_.FindAndModify(filter, Doc::Of("$set", set), true);
    };
    if (!Poll(stop, kPollLeast, kPollMost, attempt)) return false;
    ids_[key] = id;
    return true;
  }
  bool Unlock(int key) override {
    if (Look(key) == 0) return false;
    Doc nothing;
    for (const char* field :
         {"lockId", "owner", "host", "comment", "createdAt", "renewedAt", "expiresAt"}) {
      nothing.AddNull(field);
    }
    nothing.Add("acquired", false);
    return collection_.FindAndModify(Mine(key), Doc::Of("$set", Doc::Of("exclusive", nothing)));
  }
  bool Renew(int key) override {
    if (Look(key) == 0) return false;
    const std::int64_t now = UnixMilliseconds();
    Doc set;
    set.Add("exclusive.expiresAt", Date(now + ttl_)).Add("exclusive.renewedAt", Date(now));
    Doc filter = Mine(key);
    filter.Add("exclusive.expiresAt", Doc::Of("$gt", Date(now + 1000)));
    return collection_.FindAndModify(filter, Doc::Of("$set", set));
  }

 private:
  static std::string NameOf(int key) { return "lock/" + std::to_string(key); }
  static bson_value_t Date(std::int64_t at) {
    bson_value_t value{};
    value.value_type = BSON_TYPE_DATE_TIME;
    value.value.v_datetime = at;
    return value;
  }
  Doc Exclusive(const std::string& id, std::int64_t now) const {
    Doc lock;
    lock.Add("lockId", id).AddNull("owner").AddNull("host").AddNull("comment");
    lock.Add("createdAt", Date(now)).AddNull("renewedAt").Add("expiresAt", Date(now + ttl_));
    lock.Add("acquired", true);
    return lock;
  }
  Doc Mine(int key) {
    Doc filter;
    filter.Add("resource", NameOf(key)).Add("exclusive.lockId", ids_[key]);
    return filter;
  }
  /// Finds the locks that carry an id, as the library does before it unlocks or renews.
  int Look(int key) {
    const std::string& id = ids_[key];
    const Doc exclusive = Doc::Of("exclusive.lockId", id);
    const Doc shared = Doc::Of("shared.locks.lockId", id);
    const Doc match = Doc::Of("$or", Array().Add(exclusive).Add(shared));
    const Doc same = Doc::Of("$eq", Array().Add("$$lock.lockId").Add(id));
    Doc filter;
    filter.Add("input", "$shared.locks")
        .Add("as", "lock")
        .Add("cond", Doc::Of("$and", Array().Add(same)));
    Doc project;
    project.Add("shared.locks", Doc::Of("$filter", filter))
        .Add("resource", true)
        .Add("exclusive", true);
    return collection_.Aggregate(
        Array().Add(Doc::Of("$match", match)).Add(Doc::Of("$project", project)).doc());
  }
};

class MongoPeer final : public Peer {
 public:
  explicit MongoPeer(Place place) : place_(std::move(place)), pool_(place_.url) {}

  void Prepare(int keys) override {
    if (place_.kind == "mongo-lock") return MongoLockCaller::CreateIndexes(pool_);
    if (place_.kind == "pipeline")
      return Collection(pool_, "pipeline").CreateIndex("expiresAt", false);
    std::vector<Doc> documents;
    for (int key = 0; key < keys; ++key) documents.push_back(ByHandCaller::Fresh(key));
    Collection(pool_, "by_hand").Insert(documents);
  }
  std::unique_ptr<Caller> NewCaller() override {
    if (place_.kind == "by hand") return std::make_unique<ByHandCaller>(pool_, place_.ttl);
    if (place_.kind == "pipeline") return std::make_unique<PipelineCaller>(pool_, place_.ttl);
    if (place_.kind == "mongo-lock") return std::make_unique<MongoLockCaller>(pool_, place_.ttl);
    throw std::runtime_error("unknown kind");
  }

 private:
  const Place place_;
  const Pool pool_;
};

}  // namespace
}  // namespace doclock::peers

int main(int argc, char** argv) {
  using namespace doclock::peers;
  return Work(argc, argv, [](const Place& place) { return std::make_unique<MongoPeer>(place); });
}
