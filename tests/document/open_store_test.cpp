#include "doclock/open_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doclock/errors.h"

namespace doclock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// The error of OpenStore for a bad URL.
std::string Complaint(const std::string& url) {
  try {
    OpenStore(url);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "(no complaint)";
}

TEST(OpenStore, OpensAMemoryStoreOfItsOwnEachTime) {
  const auto store = OpenStore("memory:");
  ASSERT_NE(store, nullptr);
  EXPECT_NE(store, OpenStore("memory:"));
}

TEST(OpenStore, RefusesAnUnknownSchemeAndNamesThoseThereAre) {
  for (const std::string url : {"", "memory", "Memory:", "mongo://ann:hunter2@h/db", "sqlite",
                                "sqlite3:a.db", "/a.db", ":memory:", "hunter2"}) {
    const std::string complaint = Complaint(url);
    EXPECT_THAT(complaint, HasSubstr("memory:")) << url;
    EXPECT_THAT(complaint, Not(HasSubstr("hunter2"))) << url;
#ifdef DOCLOCK_WITH_SQLITE
    EXPECT_THAT(complaint, HasSubstr("sqlite:")) << url;
#endif
  }
}

TEST(OpenStore, RefusesAMemoryStoreWithAPathOrOptions) {
  for (const std::string url : {"memory:name", "memory://", "memory:?sync=full"}) {
    EXPECT_THAT(Complaint(url), HasSubstr("memory: takes no path")) << url;
  }
}

TEST(OpenStore, OpensWhatExists) { EXPECT_NE(OpenStore("memory:", OpenMode::kExisting), nullptr); }

/// A store of memory, and what its opener was asked.
struct Asked {
  std::vector<std::string> urls;
  std::vector<OpenMode> modes;

  StoreOpener Opener() {
    return [this](std::string_view url, OpenMode mode) {
      urls.emplace_back(url);
      modes.push_back(mode);
      return OpenMemoryStore();
    };
  }
};

/// The error of RegisterScheme.
std::string RefusalOf(const std::string& scheme, const StoreOpener& opener) {
  try {
    RegisterScheme(scheme, opener);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "(registered)";
}

StoreOpener AnyOpener() {
  return [](std::string_view, OpenMode) { return OpenMemoryStore(); };
}

TEST(OpenStoreRegistered, OpensItsSchemeWithTheWholeUrl) {
  static Asked asked;
  RegisterScheme("whole-url", asked.Opener());
  EXPECT_NE(OpenStore("whole-url:/a:b?c"), nullptr);
  EXPECT_NE(OpenStore("whole-url:", OpenMode::kExisting), nullptr);
  EXPECT_THAT(asked.urls, ElementsAre("whole-url:/a:b?c", "whole-url:"));
  EXPECT_THAT(asked.modes, ElementsAre(OpenMode::kAsTheUrlSays, OpenMode::kExisting));
  EXPECT_THAT(Complaint("whole-ur:x"), HasSubstr("whole-url:")) << "it is among those there are";
}

TEST(OpenStoreRegistered, ThrowsWhatTheOpenerThrows) {
  RegisterScheme("throws", [](std::string_view, OpenMode) -> std::shared_ptr<Store> {
    throw StoreException(Errc::kUnavailable, "away");
  });
  EXPECT_THROW(OpenStore("throws:x"), StoreException);
}

TEST(OpenStoreRegistered, AnOpenerMayOpenAnotherUrlAndRegister) {
  RegisterScheme("nested", [](std::string_view, OpenMode mode) {
    RegisterScheme("nested-inner", AnyOpener());
    return OpenStore("nested-inner:", mode);
  });
  EXPECT_NE(OpenStore("nested:"), nullptr);
}

TEST(OpenStoreRegistered, IsRefusedWhereThereIsAnOpenerAlready) {
  static Asked first;
  RegisterScheme("twice", first.Opener());
  EXPECT_THAT(RefusalOf("twice", AnyOpener()), HasSubstr("twice has an opener already"));
  OpenStore("twice:");
  EXPECT_EQ(first.urls.size(), 1U) << "the first one stays";
  EXPECT_THAT(RefusalOf("memory", AnyOpener()), HasSubstr("memory has an opener already"));
}

TEST(OpenStoreRegistered, IsRefusedWithoutAnOpener) {
  EXPECT_THAT(RefusalOf("without", nullptr), HasSubstr("without needs an opener"));
  EXPECT_EQ(RefusalOf("without", AnyOpener()), "(registered)") << "nothing was kept of the first";
}

TEST(OpenStoreRegistered, IsRefusedUnderWhatIsNoScheme) {
  for (const std::string scheme : {"", "Dir", "dir:", "1dir", "-dir", "a b", "a/b", "\xC3\xA9"}) {
    EXPECT_THAT(RefusalOf(scheme, AnyOpener()), HasSubstr("lower-case letter")) << scheme;
  }
  EXPECT_EQ(RefusalOf("a1+b-c.d", AnyOpener()), "(registered)");
}

TEST(OpenStoreRegistered, OneOfManyThreadsRegistersAScheme) {
  constexpr int kThreads = 8;
  std::atomic<int> registered = 0;
  std::atomic<int> opened = 0;
  std::barrier start(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        if (RefusalOf("race", AnyOpener()) == "(registered)") ++registered;
        if (OpenStore("race:") != nullptr) ++opened;
      });
    }
  }
  EXPECT_EQ(registered, 1);
  EXPECT_EQ(opened, kThreads);
}

}  // namespace
}  // namespace doclock
