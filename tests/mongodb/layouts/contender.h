#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "mongodb/layouts/real_mongo_lock.h"
#include "process/child.h"

namespace doclock::mongo_test {

/// The layouts, each with a re-created library, and "mongolock/real".
inline const std::vector<std::string> kTheirs = {"distributedlock", "mongolock", "mongolock/real"};

/// For gtest, which wants letters.
inline std::string NameOfTheirs(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '/' ? '_' : c;
  return name;
}

/// False: the real library could not be built.
inline bool IsThere(const std::string& theirs) {
  return !theirs.ends_with("/real") || !RealMongoLock::Program().empty();
}

/// Makes the index without which clients of mongo-lock do not even exclude each other.
inline void MakeIndexes(const std::string& theirs, const std::string& uri,
                        const std::string& database) {
  if (!theirs.starts_with("mongolock")) return;
  EXPECT_EQ(RecreatedMongoLock(uri, database).CreateIndexes(), "done 0");
}

/// A process that takes and releases the lock "job" until it is killed, and tells its history.
/// @param kind "contend": doclock; "peer": the other library @param theirs of kTheirs
inline test::Child Contender(const std::string& kind, const std::string& theirs,
                             const std::string& uri, const std::string& database, int workers,
                             std::chrono::milliseconds ttl, std::chrono::milliseconds hold,
                             std::chrono::milliseconds rest, int shares = 0) {
  const auto text = [](std::chrono::milliseconds time) { return std::to_string(time.count()); };
  std::vector<std::string> program;
  if (kind == "peer" && theirs.ends_with("/real")) program.push_back(RealMongoLock::Program());
  return test::Child({kind, uri, database, "job", std::to_string(workers), text(ttl), text(hold),
                      text(rest), theirs.substr(0, theirs.find('/')), std::to_string(shares)},
                     program);
}

}  // namespace doclock::mongo_test
