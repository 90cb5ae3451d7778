// The recipe for a message that changes one document (docs/how-to/message-consumers.md).

#include <gtest/gtest.h>

#include "docs_how_to_message_consumers_handle.cpp"
#include "repository/support/stores.h"

namespace {

constexpr std::int64_t kDay = 24 * 3600;

class HandleRecipe : public ::testing::TestWithParam<doclock::StoreKind> {
 protected:
  Verdict Deliver(int number, std::int64_t sent) {
    return Handle(sagas, {"m" + std::to_string(number), "42", sent});
  }
  /// Does this message take effect? It does if the step is set anew.
  bool Counts(int number, std::int64_t sent) {
    sagas.Update("42", [](OrderSaga& saga) { saga.step = "new"; });
    (void)Deliver(number, sent);
    return sagas.Find("42").value()->step == "paid";
  }

  doclock::LockManager manager{GetParam().open(nullptr)};
  Sagas sagas{manager, "sagas"};
};

TEST_P(HandleRecipe, AMessageCountsOnceHoweverManyCameSince) {
  ASSERT_EQ(Deliver(0, 1000), Verdict::kAck);
  for (int i = 1; i <= 301; ++i) ASSERT_EQ(Deliver(i, 1000 + i), Verdict::kAck);
  EXPECT_FALSE(Counts(0, 1000));
  EXPECT_TRUE(Counts(302, 1302));
}

TEST_P(HandleRecipe, WhatMayHaveBeenForgottenIsADeadLetterAndNeverCounts) {
  ASSERT_EQ(Deliver(0, 1000), Verdict::kAck);
  ASSERT_EQ(Deliver(1, 1000 + 6 * kDay), Verdict::kAck);
  EXPECT_EQ(Deliver(0, 1000), Verdict::kAck);
  EXPECT_FALSE(Counts(0, 1000));
  ASSERT_EQ(Deliver(2, 1000 + 8 * kDay), Verdict::kAck);
  EXPECT_EQ(Deliver(0, 1000), Verdict::kDeadLetter);
  EXPECT_FALSE(Counts(0, 1000));
  EXPECT_EQ(sagas.Find("42").value()->seen.size(), 2U);
}

TEST_P(HandleRecipe, MisuseIsADeadLetterAndAMissingThreadIsTriedAgain) {
  const auto twice = [&] {
    auto saga = sagas.Lock(OrderSaga{"42", "new"});
    saga.Release();
    saga.Release();
  };
  EXPECT_EQ(Judge(twice), Verdict::kDeadLetter);
  EXPECT_EQ(Judge([&] { (void)sagas.Lock(""); }), Verdict::kDeadLetter);
  const auto no_thread = [] {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  };
  EXPECT_EQ(Judge(no_thread), Verdict::kRetry);
  EXPECT_EQ(Judge([] { throw std::bad_alloc(); }), Verdict::kRetry);
}

TEST_P(HandleRecipe, ErrorsOfDoclockKeepTheirVerdictsAlthoughTheyAreSystemErrors) {
  EXPECT_EQ(Judge([&] { (void)sagas.Lock("missing"); }), Verdict::kDeadLetter);
  const auto held = sagas.Lock(OrderSaga{"42", "new"});
  EXPECT_EQ(Judge([&] { (void)sagas.Lock("42"); }), Verdict::kRetry);
  EXPECT_EQ(Judge([&] { sagas.Insert(OrderSaga{"42", "new"}); }), Verdict::kRetry);
  manager.Close();
  EXPECT_EQ(Judge([&] { (void)sagas.Lock("42"); }), Verdict::kRetry);
}

DOCLOCK_FOR_ALL_STORES(HandleRecipe);

}  // namespace
