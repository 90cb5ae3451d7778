#pragma once

#include <mongoc/mongoc.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "doclock/doclock.h"
#include "doclock/stores/mongodb.h"
#include "mongodb/bson/bson.h"
#include "mongodb_server.h"

/// @file
/// MongoDB without this library: the floors that its figures are compared with.

namespace doclock::bench {

/// The replica set, without which there is nothing to measure here.
inline std::string NeededMongodbUri() {
  if (const auto uri = MongodbUri()) return *uri;
  std::fputs(
      "No replica set to measure: scripts/mongo.sh start starts one and prints its URI, which "
      "belongs into DOCLOCK_BENCH_MONGODB.\n",
      stderr);
  std::exit(2);
}

constexpr const char* kMongodbName = "doclock_bench";

/// The URI with the database of the benchmarks in it, for stores.
inline std::string MongodbStoreUri() {
  std::string uri = NeededMongodbUri();
  const auto options = uri.find("/?");
  if (options == uri.npos) return uri + "/" + kMongodbName;
  return uri.insert(options + 1, kMongodbName);
}

/// A connection of its own. Commands that fail end the program: a floor has no failures.
class RawMongo {
 public:
  explicit RawMongo(const char* database = kMongodbName,
                    const std::string& uri = NeededMongodbUri())
      : database_(database) {
    mongoc_init();
    client_ = mongoc_client_new(uri.c_str());
    if (client_ == nullptr) std::abort();
  }
  RawMongo(const RawMongo&) = delete;
  RawMongo& operator=(const RawMongo&) = delete;
  ~RawMongo() { mongoc_client_destroy(client_); }

  /// `visit` sees the reply.
  template <class Visit>
  void Run(const mongodb::Doc& command, Visit visit) {
    bson_t reply;
    bson_error_t error{};
    if (!mongoc_client_command_simple(client_, database_, command.get(), nullptr, &reply, &error)) {
      std::fprintf(stderr, "a raw command failed: %s\n", error.message);
      std::abort();
    }
    visit(reply);
    bson_destroy(&reply);
  }
  void Run(const mongodb::Doc& command) {
    Run(command, [](const bson_t&) {});
  }

  [[nodiscard]] mongoc_client_t* client() const noexcept { return client_; }

 private:
  const char* database_;
  mongoc_client_t* client_ = nullptr;
};

inline mongodb::Doc Majority() { return mongodb::Doc::Of("w", "majority"); }

/// An update of one document, to a majority.
inline mongodb::Doc RawUpdate(const char* collection, const mongodb::Doc& filter,
                              const mongodb::Doc& update, bool upsert = false) {
  mongodb::Doc statement;
  statement.Add("q", filter).Add("u", update).Add("upsert", upsert);
  mongodb::Doc command;
  command.Add("update", collection)
      .Add("updates", mongodb::Array().Add(statement))
      .Add("writeConcern", Majority());
  return command;
}

/// The two updates of a cycle on one document: a small one, as a lock's, and one of 1 KB.
class RawCycles {
 public:
  explicit RawCycles(int document) : id_(mongodb::Doc::Of("_id", document)) {
    raw_.Run(RawUpdate("floor", id_, mongodb::Doc::Of("$set", Text()), true));
  }

  void Run() {
    raw_.Run(
        RawUpdate("floor", id_, mongodb::Doc::Of("$set", mongodb::Doc::Of("locked", ++count_))));
    raw_.Run(RawUpdate("floor", id_, mongodb::Doc::Of("$set", Text())));
  }

 private:
  mongodb::Doc Text() { return mongodb::Doc::Of("note", std::to_string(++count_) + text_); }

  RawMongo raw_;
  const mongodb::Doc id_;
  const std::string text_ = std::string(1000, 'x');
  std::int64_t count_ = 0;
};

/// Empties the database, so that no run measures what the last one left.
inline void DropMongodb() {
  RawMongo raw;
  raw.Run(mongodb::Doc::Of("dropDatabase", 1).Add("writeConcern", Majority()));
}

/// How many commands of these names the primary has had since it started.
inline std::int64_t CommandsSoFar(std::initializer_list<std::string> names) {
  RawMongo raw("admin");
  std::int64_t sum = 0;
  raw.Run(mongodb::Doc::Of("serverStatus", 1), [&](const bson_t& reply) {
    for (const std::string& name : names) {
      bson_iter_t iter;
      bson_iter_t total;
      if (bson_iter_init(&iter, &reply) &&
          bson_iter_find_descendant(&iter, ("metrics.commands." + name + ".total").c_str(),
                                    &total)) {
        sum += bson_iter_as_int64(&total);
      }
    }
  });
  return sum;
}

/// The processor's time that the primary has used since it started, in microseconds.
inline double PrimaryMicroseconds() {
  RawMongo raw("admin");
  double sum = 0;
  raw.Run(mongodb::Doc::Of("serverStatus", 1), [&](const bson_t& reply) {
    for (const char* const mode : {"extra_info.user_time_us", "extra_info.system_time_us"}) {
      bson_iter_t iter;
      bson_iter_t time;
      if (bson_iter_init(&iter, &reply) && bson_iter_find_descendant(&iter, mode, &time)) {
        sum += static_cast<double>(bson_iter_as_int64(&time));
      }
    }
  });
  return sum;
}

}  // namespace doclock::bench
