#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "mongodb/layouts/history.h"
#include "mongodb/layouts/peers.h"
#include "mongodb/layouts/real_mongo_lock.h"
#include "process/child.h"

namespace doclock::mongo_test {

/// The layouts, each with a re-created library, and "mongolock/real".
inline const std::vector<std::string> kTheirs = {"distributedlock", "pessimisticlock", "mongolock",
                                                 "mongolock/real", "mongolocks-3"};

/// For gtest, which wants letters.
inline std::string NameOfTheirs(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

/// False: the real library could not be built.
inline bool IsThere(const std::string& theirs) {
  return !theirs.ends_with("/real") || !RealMongoLock::Program().empty();
}

/// Makes the index without which clients of mongo-lock do not even exclude each other, or the
/// document that clients of MongoLocks lock.
inline void Prepare(const std::string& theirs, const std::string& uri,
                    const std::string& database) {
  if (HasDocuments(theirs)) {
    return MakePeer(theirs, uri, database, "locks")->MakeDocument(JobIn(theirs));
  }
  if (!theirs.starts_with("mongolock")) return;
  EXPECT_EQ(RecreatedMongoLock(uri, database).CreateIndexes(), "done 0");
}

/// A process that takes and releases the lock "job" until it is killed, and tells its history.
/// @param kind "contend": doclock; "peer": the other library, re-created unless the variable
/// DOCLOCK_TEST_PEER_<LAYOUT> names a program with the real one, which is started with the helper's
/// path and arguments (see ReadContest) and tells what ContendAsPeer tells
/// @param theirs of kTheirs
inline test::Child Contender(const std::string& kind, const std::string& theirs,
                             const std::string& uri, const std::string& database, int workers,
                             std::chrono::milliseconds ttl, std::chrono::milliseconds hold,
                             std::chrono::milliseconds rest, int shares = 0) {
  const auto text = [](std::chrono::milliseconds time) { return std::to_string(time.count()); };
  std::vector<std::string> program;
  if (kind == "peer" && theirs.ends_with("/real")) program.push_back(RealMongoLock::Program());
  std::string variable = "DOCLOCK_TEST_PEER_" + theirs.substr(0, theirs.find('-'));
  std::transform(variable.begin(), variable.end(), variable.begin(), ::toupper);
  const char* const real = kind == "peer" ? std::getenv(variable.c_str()) : nullptr;
  if (real != nullptr) program.push_back(real);
  return test::Child(
      {kind, uri, database, JobIn(theirs), std::to_string(workers), text(ttl), text(hold),
       text(rest), theirs.substr(0, theirs.find('/')), std::to_string(shares)},
      program);
}

/// What it tells of its next holds: it gets somewhere. (A waiter may pause for long.)
inline std::vector<std::string> NextHolds(test::Child& child, std::size_t count) {
  std::vector<std::string> lines;
  while (lines.size() < 2 * count) {
    const auto line = child.Line();
    if (!line) {
      ADD_FAILURE() << "it got nowhere";
      break;
    }
    lines.push_back(*line);
  }
  return lines;
}

/// Kills them, and returns the holds of each. @param told what was read of each before
inline std::vector<std::vector<Hold>> KilledHolds(std::vector<test::Child>& children,
                                                  std::vector<std::vector<std::string>> told) {
  for (const test::Child& child : children) child.Signal(SIGKILL);
  std::vector<std::vector<Hold>> holds;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const auto rest = children[i].Rest();
    told[i].insert(told[i].end(), rest.begin(), rest.end());
    holds.push_back(HoldsIn(told[i], "a process"));
  }
  return holds;
}

}  // namespace doclock::mongo_test
