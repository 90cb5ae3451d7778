#pragma once

#include <algorithm>
#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mongodb/support/raw_documents.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {

inline mongodb::Doc FromJson(const std::string& json) {
  mongodb::Doc doc;
  bson_concat(doc.get(), mongo_docs_test::Parse(json).get());
  return doc;
}

/// A client of another library, re-created: its commands, letter for letter, and a reader that
/// refuses what its own refuses. It is not the library itself.
class LockPeer {
 public:
  struct Held {
    std::string lock_id;
    std::int64_t token = 0;  ///< 0: the library has none.
  };
  /// What it throws when it reads what it does not know.
  class FormatException : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
  };

  /// @param uri of a server, without a database
  LockPeer(const std::string& uri, std::string database, std::string collection)
      : server_(uri), database_(std::move(database)), collection_(std::move(collection)) {}
  LockPeer(const LockPeer&) = delete;
  LockPeer& operator=(const LockPeer&) = delete;
  virtual ~LockPeer() = default;

  /// Nothing: it is busy. @throws FormatException
  virtual std::optional<Held> TryAcquire(const std::string& name,
                                         std::chrono::milliseconds ttl) = 0;
  /// False: it is told that it has not got the lock.
  virtual bool Renew(const std::string& name, const Held& held, std::chrono::milliseconds ttl) = 0;
  virtual void Release(const std::string& name, const Held& held) = 0;
  virtual void MakeIndexes() = 0;
  /// How long it sleeps until its next attempt.
  virtual std::chrono::milliseconds Pause() = 0;
  /// @throws FormatException
  virtual void ReadStrictly(const bson_t& doc) const = 0;
  /// The fence in a document that doclock has written.
  [[nodiscard]] virtual std::int64_t FenceIn(const bson_t& doc) const = 0;
  /// Is this what a release leaves? @param doc null: there is none
  [[nodiscard]] virtual bool IsFree(const bson_t* doc) const { return doc == nullptr; }
  /// Where documents are more than locks: the one to be locked.
  virtual void MakeDocument(const std::string& /*name*/) {}

  /// A UUID by its text.
  static Uuid IdOf(const std::string& text) { return boost::uuids::string_generator{}(text); }

 protected:
  /// Of a document that has these members, all of them, and no others.
  static void ReadMembers(const bson_t& doc,
                          const std::vector<std::pair<std::string_view, bson_type_t>>& members) {
    std::size_t seen = 0;
    bson_iter_t at;
    bson_iter_init(&at, &doc);
    while (bson_iter_next(&at)) {
      const std::string_view name = bson_iter_key(&at);
      const auto member = std::find_if(members.begin(), members.end(),
                                       [&](const auto& known) { return known.first == name; });
      if (member == members.end()) {
        throw FormatException("Element '" + std::string(name) + "' does not match any property");
      }
      if (bson_iter_type(&at) != member->second) {
        throw FormatException("Cannot deserialize '" + std::string(name) + "'");
      }
      ++seen;
    }
    if (seen != members.size()) throw FormatException("a member is missing");
  }
  static std::int64_t IntegerAt(const bson_t& doc, const char* field) {
    bson_iter_t at;
    return mongodb::FindField(doc, field, at) ? bson_iter_as_int64(&at) : 0;
  }
  static void AddPipeline(mongodb::Doc& doc, const char* name,
                          const std::vector<std::string>& stages) {
    mongodb::Array all;
    for (const std::string& stage : stages) all.Add(FromJson(stage));
    doc.Add(name, all);
  }
  void Run(const mongodb::Doc& command, const RawServer::Visit& visit = {}) {
    server_.Run(database_, command, visit);
  }
  /// How many documents one statement of a command concerned.
  std::int64_t Count(const char* verb, const char* list, const mongodb::Doc& statement,
                     const mongodb::Doc& more = {}) {
    mongodb::Doc command = mongodb::Doc::Of(verb, collection_);
    command.Add(list, mongodb::Array().Add(statement));
    bson_concat(command.get(), more.get());
    std::int64_t n = 0;
    Run(command, [&](const bson_t& reply) { n = IntegerAt(reply, "n"); });
    return n;
  }
  [[nodiscard]] const std::string& collection() const noexcept { return collection_; }

 private:
  RawServer server_;
  const std::string database_, collection_;
};

}  // namespace doclock::mongo_test
