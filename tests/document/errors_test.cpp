#include "doclock/errors.h"

#include <gtest/gtest.h>

#include <set>

#include "doclock/detail/engine.h"

namespace doclock {
namespace {

using detail::Failure;
using namespace std::chrono_literals;

TEST(Errors, EveryCodeHasItsOwnText) {
  std::set<std::string> texts;
  for (int code = 1; code <= static_cast<int>(Errc::kForked); ++code) {
    texts.insert(make_error_code(static_cast<Errc>(code)).message());
  }
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(Errc::kForked));
  const std::error_code code = Errc::kBusy;
  EXPECT_STREQ(code.category().name(), "doclock");
}

TEST(Errors, SayNothingTwice) {
  const DocumentException first("a name is refused");
  EXPECT_STREQ(DocumentException(std::string("shop/42: ") + first.what()).what(),
               "shop/42: a name is refused");
  EXPECT_STREQ(DocumentException("").what(), "the document cannot be read or stored");
}

TEST(LockHolder, PrintsWhatIsKnown) {
  EXPECT_EQ((LockHolder{"jobs", "db1", 77}.ToString()), "jobs (db1:77)");
  EXPECT_EQ((LockHolder{"jobs", "", 0}.ToString()), "jobs");
  EXPECT_EQ((LockHolder{"", "db1", 77}.ToString()), "unknown (db1:77)");
  EXPECT_EQ(LockHolder{}.ToString(), "unknown");
  EXPECT_EQ((LockHolder{"a\nb\x1b[31m", "h\t", 0}.ToString()), "a\\x0ab\\x1b[31m (h\\x09)");
}

Failure With(Errc code) {
  Failure failure;
  failure.code = code;
  failure.message = "shop/42";
  return failure;
}

TEST(Failure, ThrowsTheExceptionThatBelongsToTheCode) {
  for (const Errc code : {Errc::kBusy, Errc::kTimedOut, Errc::kCancelled, Errc::kLost,
                          Errc::kNotOwner, Errc::kForked}) {
    EXPECT_THROW(With(code).Throw(), LockException);
  }
  for (const Errc code :
       {Errc::kUnavailable, Errc::kRefused, Errc::kMalformed, Errc::kClosed, Errc::kInDoubt}) {
    EXPECT_THROW(With(code).Throw(), StoreException);
  }
  EXPECT_THROW(With(Errc::kInDoubt).Throw(), InDoubtException);
  EXPECT_THROW(With(Errc::kConflict).Throw(), ConflictException);
  EXPECT_THROW(With(Errc::kNotFound).Throw(), NotFoundException);
  EXPECT_THROW(With(Errc::kDocument).Throw(), DocumentException);
  EXPECT_THROW(std::rethrow_exception(With(Errc::kNotFound).AsException()), NotFoundException);
}

TEST(Failure, CarriesItsDetails) {
  Failure busy = With(Errc::kBusy);
  busy.holder.name = "jobs";
  busy.remaining = 5s;
  busy.waiting = 2;
  try {
    busy.Throw();
  } catch (const LockException& error) {
    EXPECT_EQ(error.errc(), Errc::kBusy);
    EXPECT_EQ(error.code(), Errc::kBusy);
    EXPECT_EQ(error.holder().name, "jobs");
    EXPECT_EQ(error.remaining(), 5s);
    EXPECT_EQ(error.waiting(), 2);
    EXPECT_NE(std::string(error.what()).find("shop/42"), std::string::npos);
  }
  Failure conflict = With(Errc::kConflict);
  conflict.expected = 3;
  conflict.found = 4;
  conflict.index = "email";
  try {
    conflict.Throw();
  } catch (const ConflictException& error) {
    EXPECT_EQ(error.expected(), 3);
    EXPECT_EQ(error.found(), 4);
    EXPECT_EQ(error.index(), "email");
  }
}

TEST(StoreException, OnlyUnavailableIsTransient) {
  EXPECT_TRUE(StoreException(Errc::kUnavailable, "").transient());
  EXPECT_FALSE(StoreException(Errc::kRefused, "").transient());
  EXPECT_FALSE(InDoubtException("").transient());
}

}  // namespace
}  // namespace doclock
