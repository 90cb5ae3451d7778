#include "doclock/errors.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "doclock/messages.h"

namespace doclock {
namespace {

template <class E>
Disposition Of(const E& error) {
  return Classify(std::make_exception_ptr(error));
}

TEST(Classify, KnowsEachCode) {
  const std::map<Errc, Disposition> table = {
      {Errc::kBusy, Disposition::kRetryLater},      {Errc::kTimedOut, Disposition::kRetryLater},
      {Errc::kCancelled, Disposition::kStop},       {Errc::kLost, Disposition::kRetryNow},
      {Errc::kNotOwner, Disposition::kRetryNow},    {Errc::kConflict, Disposition::kRetryNow},
      {Errc::kNotFound, Disposition::kDeadLetter},  {Errc::kDocument, Disposition::kDeadLetter},
      {Errc::kMalformed, Disposition::kDeadLetter}, {Errc::kUnavailable, Disposition::kRetryLater},
      {Errc::kRefused, Disposition::kDeadLetter},   {Errc::kInDoubt, Disposition::kRetryLater},
      {Errc::kClosed, Disposition::kStop},          {Errc::kForked, Disposition::kStop}};
  EXPECT_EQ(table.size(), static_cast<std::size_t>(Errc::kForked)) << "a code is missing here";
  for (const auto& [code, disposition] : table) {
    EXPECT_EQ(Of(Error(code, "")), disposition) << ErrorCategory().message(static_cast<int>(code));
  }
}

TEST(Classify, KnowsTheTypesThatAreThrown) {
  EXPECT_EQ(Of(LockException(Errc::kBusy, "")), Disposition::kRetryLater);
  EXPECT_EQ(Of(InDoubtException("")), Disposition::kRetryLater);
  EXPECT_EQ(Of(NotFoundException("")), Disposition::kDeadLetter);
  EXPECT_EQ(Of(ConflictException("", 1, 2)), Disposition::kRetryNow);
  EXPECT_EQ(Of(ConflictException("", {}, {}, "by_name")), Disposition::kDeadLetter);
}

TEST(Classify, AHandledMessageIsAcknowledged) {
  EXPECT_EQ(Of(DuplicateMessageException("")), Disposition::kAcknowledge);
  EXPECT_EQ(Classify(nullptr), Disposition::kAcknowledge);
}

TEST(Classify, KnowsWhatOthersThrow) {
  EXPECT_EQ(Of(std::invalid_argument("")), Disposition::kDeadLetter);
  EXPECT_EQ(Of(std::bad_alloc()), Disposition::kRetryLater);
  EXPECT_EQ(Of(std::system_error(std::make_error_code(std::errc::timed_out))),
            Disposition::kRetryLater);
  EXPECT_EQ(Of(std::runtime_error("")), Disposition::kRetryLater);
  EXPECT_EQ(Of(7), Disposition::kRetryLater);
  try {
    const auto unreadable = nlohmann::json::parse("{");
    FAIL() << unreadable;
  } catch (...) {
    EXPECT_EQ(Classify(std::current_exception()), Disposition::kDeadLetter);
  }
}

}  // namespace
}  // namespace doclock
