#ifdef DOCLOCK_WITH_MONGODB

#include "conformance/mongodb_backend.h"

#include "doclock/stores/mongodb.h"
#include "mongodb/open_url.h"
#include "mongodb/support/raw_server.h"

namespace doclock::conformance {
namespace {

using mongodb::Array;
using mongodb::Doc;

struct AgeingDatabase : mongo_test::Database {
  using mongo_test::Database::Database;

  /// Moves the dates of locks into the past, because a test cannot move the server's clock.
  void Age(std::chrono::milliseconds by) {
    for (const std::string& collection : server().Collections(name())) {
      Array statements;
      for (const char* field : {"lockTime", "lockClosed"}) {
        const Doc set = Doc::Of("$set", Doc::Of(field, Aged(std::string("$") + field, by)));
        statements.Add(Statement(Doc::Of(field, Doc::Of("$type", "date")), set));
      }
      statements.Add(AgeEach("lockReaders", "time", by));
      statements.Add(AgeEach("lockQueue", "until", by));
      Doc command;
      command.Add("update", std::string_view(collection)).Add("updates", statements);
      Run(command);
    }
  }
  /// Of all elements of an array.
  static Doc AgeEach(const std::string& array, const std::string& date,
                     std::chrono::milliseconds by) {
    Array both;
    both.Add(std::string_view("$$this")).Add(Doc::Of(date, Aged("$$this." + date, by)));
    Doc map;
    map.Add("input", "$" + array).Add("in", Doc::Of("$mergeObjects", both));
    const Doc set = Doc::Of("$set", Doc::Of(array, Doc::Of("$map", map)));
    return Statement(Doc::Of(array + "." + date, Doc::Of("$type", "date")), set);
  }
  static Doc Aged(const std::string& date, std::chrono::milliseconds by) {
    Array difference;
    difference.Add(std::string_view(date)).Add(std::int64_t{by.count()});
    return Doc::Of("$subtract", difference);
  }
  static Doc Statement(const Doc& filter, const Doc& stage) {
    Doc statement;
    statement.Add("q", filter).Add("u", Array().Add(stage)).Add("multi", true);
    return statement;
  }
  void Spoil(const std::string& collection, const Key& key, const Doc& fields) {
    Update(collection, Doc::Of("_id", key), Doc::Of("$set", fields));
  }
  /// For bodies with numbers only.
  void Plant(const std::string& collection, const Key& key, const Body& body) {
    Doc document = Doc::Of("_id", key);
    for (const auto& [name, value] : body.json().items()) {
      document.Add(name, value.get<std::int64_t>());
    }
    Insert(collection, document);
  }
};

Backend MakeBackend(const std::string& uri) {
  auto database = std::make_shared<AgeingDatabase>(uri);
  Backend backend;
  backend.keeps_literals = false;
  backend.clock = std::make_shared<ManualClock>();
  backend.open_another = [uri = database->uri()] { return OpenMongodbStore(uri); };
  backend.open_existing = [uri = database->uri()] {
    return OpenMongodbUrl(uri, OpenMode::kExisting);
  };
  backend.store = backend.open_another();
  backend.advance = [database](std::chrono::milliseconds by) { database->Age(by); };
  backend.slack = 8s;  // on a busy machine
  backend.spoil = [database](const std::string& collection, const Key& key) {
    database->Spoil(collection, key, Doc::Of("lockVersion", "first"));
  };
  backend.spoil_share = [database](const std::string& collection, const Key& key) {
    database->Spoil(collection, key, Doc::Of("lockReaders.0.ttl", "long"));
  };
  backend.plant = [database](const std::string& collection, const Key& key, const Body& body) {
    database->Plant(collection, key, body);
  };
  backend.remains = database;
  return backend;
}

}  // namespace

Backend MakeMongodb() { return MakeBackend(mongo_test::SetUri()); }

Backend MakeMongodbStandalone() { return MakeBackend(mongo_test::StandaloneUri()); }

}  // namespace doclock::conformance

#endif
