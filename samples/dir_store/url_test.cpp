// OpenStore opens a store that doclock does not bring.
#include <doclock/lock_manager.h>
#include <doclock/locking_repository.h>
#include <doclock/open_store.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "dir_url.h"
#include "temp_folder.h"

namespace {

namespace fs = std::filesystem;
using Repository = doclock::LockingRepository<nlohmann::json>;

class DirUrl : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { RegisterDirScheme(); }

  [[nodiscard]] std::string Url() const { return "dir:" + folder_->string(); }

  const std::shared_ptr<const fs::path> folder_ = MakeFolder();
};

TEST_F(DirUrl, OpensTheFolderItNames) {
  const doclock::LockManager manager{doclock::OpenStore(Url())};
  Repository orders{manager, "orders"};
  auto order = orders.Lock({"42", nlohmann::json{{"step", "new"}}});
  order->at("step") = "paid";
  order.Release();

  EXPECT_TRUE(fs::is_directory(*folder_ / "orders" / "documents"));
  const doclock::LockManager another{doclock::OpenStore(Url(), doclock::OpenMode::kExisting)};
  Repository same{another, "orders"};
  EXPECT_EQ(same.Find("42").value()->at("step"), "paid");
}

TEST_F(DirUrl, MakesNothingWhereOnlyWhatExistsIsWanted) {
  const doclock::LockManager manager{doclock::OpenStore(Url(), doclock::OpenMode::kExisting)};
  EXPECT_THROW(Repository(manager, "orders"), doclock::NotFoundException);
  EXPECT_TRUE(fs::is_empty(*folder_));
}

TEST_F(DirUrl, NeedsAPath) { EXPECT_THROW(doclock::OpenStore("dir:"), std::invalid_argument); }

TEST_F(DirUrl, IsRegisteredOnce) { EXPECT_THROW(RegisterDirScheme(), std::invalid_argument); }

TEST_F(DirUrl, IsNamedAmongTheSchemesThereAre) {
  EXPECT_THAT([] { doclock::OpenStore("file:x"); },
              ::testing::ThrowsMessage<std::invalid_argument>(::testing::HasSubstr("dir:")));
}

}  // namespace
