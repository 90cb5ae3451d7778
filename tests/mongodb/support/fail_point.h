#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "mongodb/bson/bson.h"
#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {

/// A fault that the server itself makes, by its fail point "failCommand".
struct CommandFault {
  std::string name;
  int error_code = 0;         ///< Not zero: answered instead of doing the command.
  bool close = false;         ///< The connection is closed instead.
  int concern_code = 0;       ///< Not zero: done, and then this write concern error.
  std::int64_t block_ms = 0;  ///< Delay before the command is done.
};

/// The commands that this library sends.
inline const std::initializer_list<std::string_view> kAllCommands = {
    "find", "findAndModify", "update", "delete", "insert", "aggregate", "getMore", "createIndexes"};

/// The right to set the fail point "failCommand", which the server has only once for all clients.
class FailPointTurn {
 public:
  /// @throws std::logic_error if a test of another process has a fail point now
  FailPointTurn()
      : file_(::open(DOCLOCK_MONGODB_FAIL_POINT_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (file_ < 0) throw std::runtime_error("cannot open " DOCLOCK_MONGODB_FAIL_POINT_FILE);
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
      ::close(file_);
      throw std::logic_error(
          "another test has a fail point: this test or the other one is missing in SERIAL_TESTS of "
          "tests/mongodb/CMakeLists.txt");
    }
  }
  FailPointTurn(const FailPointTurn&) = delete;
  FailPointTurn& operator=(const FailPointTurn&) = delete;
  ~FailPointTurn() { ::close(file_); }

 private:
  int file_;
};

/// Makes commands on one collection fail, on the server that is the primary now, while it lives.
class FailPoint {
 public:
  struct Where {
    std::string collection = "things";
    std::optional<int> times = std::nullopt;  ///< Only this many commands.
    std::optional<int> skip = std::nullopt;   ///< Not this many, and all after them.
    std::initializer_list<std::string_view> commands = kAllCommands;
    /// Not empty: of the clients of this name (appName), in place of those on one collection.
    std::string client = {};
  };

  FailPoint(Database& database, const CommandFault& fault, const Where& where)
      : database_(database) {
    mongodb::Doc data;
    data.AddStrings("failCommands", where.commands);
    if (where.client.empty()) {
      data.Add("namespace", database.name() + "." + where.collection);
    } else {
      data.Add("appName", where.client);
    }
    if (fault.error_code != 0) data.Add("errorCode", fault.error_code);
    if (fault.close) data.Add("closeConnection", true);
    if (fault.concern_code != 0) {
      mongodb::Doc error;
      error.Add("code", fault.concern_code).Add("errmsg", "made by a test");
      data.Add("writeConcernError", error);
    }
    if (fault.block_ms != 0) {
      data.Add("blockConnection", true).Add("blockTimeMS", fault.block_ms);
    }
    mongodb::Doc command;
    command.Add("configureFailPoint", "failCommand");
    if (where.times) {
      command.Add("mode", mongodb::Doc::Of("times", *where.times));
    } else if (where.skip) {
      command.Add("mode", mongodb::Doc::Of("skip", *where.skip));
    } else {
      command.Add("mode", "alwaysOn");
    }
    command.Add("data", data);
    database.server().Run("admin", command, [this](const bson_t& reply) {
      bson_iter_t count;
      if (bson_iter_init_find(&count, &reply, "count")) before_ = bson_iter_as_int64(&count);
    });
  }
  FailPoint(const FailPoint&) = delete;
  FailPoint& operator=(const FailPoint&) = delete;
  ~FailPoint() {
    if (!over_) End();
  }

  /// Lets commands through again. Returns how many it met.
  std::int64_t End() {
    over_ = true;
    mongodb::Doc command;
    command.Add("configureFailPoint", "failCommand").Add("mode", "off");
    std::int64_t after = 0;
    database_.server().Run("admin", command, [&](const bson_t& reply) {
      bson_iter_t count;
      if (bson_iter_init_find(&count, &reply, "count")) after = bson_iter_as_int64(&count);
    });
    return after - before_;
  }

 private:
  FailPointTurn turn_;
  Database& database_;
  std::int64_t before_ = 0;
  bool over_ = false;
};

}  // namespace doclock::mongo_test
