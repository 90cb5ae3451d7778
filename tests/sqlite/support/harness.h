#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "process/child.h"
#include "process/temp_folder.h"
#include "sqlite/support/client.h"

namespace doclock::sqlite_test {

using test::Child;
using test::TempFolder;

/// With a database file of its own, which goes with its folder.
class SqliteTest : public ::testing::Test {
 protected:
  void ExpectWorks() {
    Client client(file_);
    const AcquireOp held = client.Create("works");
    ASSERT_EQ(held.status, OpStatus::kDone) << Why(held);
    EXPECT_EQ(client.Release("works", held).status, OpStatus::kDone);
  }

  TempFolder folder_;
  std::filesystem::path file_ = folder_ / "things.db";
};

}  // namespace doclock::sqlite_test
