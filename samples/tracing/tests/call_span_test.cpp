#include "call_span.h"

#include <gmock/gmock.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "doclock/doclock.h"
#include "recorded_spans.h"

namespace doclock::samples {
namespace {

using boost::asio::use_awaitable;
using nlohmann::json;

class CallSpanTest : public ::testing::Test {
 protected:
  CallSpanTest() { documents_.Insert("a", json::object()); }

  [[nodiscard]] RecordedSpan Span(const std::string& name) const {
    for (const RecordedSpan& span : spans_->all()) {
      if (span.name == name) return span;
    }
    return {};
  }
  /// The name of the span above it.
  [[nodiscard]] std::string ParentOf(const std::string& name) const {
    for (const RecordedSpan& span : spans_->all()) {
      if (span.number == Span(name).parent) return span.name;
    }
    return "";
  }
  void Run(boost::asio::awaitable<void> coroutine) {
    boost::asio::io_context context;
    std::exception_ptr failure;
    boost::asio::co_spawn(context, std::move(coroutine),
                          [&](std::exception_ptr e) { failure = std::move(e); });
    context.run();
    if (failure) std::rethrow_exception(failure);
  }

  std::shared_ptr<RecordedSpans> spans_ = std::make_shared<RecordedSpans>();
  LockManager manager_{OpenMemoryStore()};
  LockingRepository<json> documents_{manager_, "documents"};
};

TEST_F(CallSpanTest, CallsAreUnderTheCallersSpan) {
  {
    const CallSpan request(spans_, "request");
    const opentelemetry::trace::Scope active(request.span());
    Locked<json> held = InSpan(spans_, "lock", [&] { return documents_.Lock("a"); });
    InSpan(spans_, "commit", [&] {
      Transaction transaction(manager_);
      InSpan(spans_, "inner", [&] { transaction.Release(held); });
      transaction.Commit();
    });
  }
  EXPECT_EQ(ParentOf("lock"), "request");
  EXPECT_EQ(ParentOf("commit"), "request");
  EXPECT_EQ(ParentOf("inner"), "commit");
  EXPECT_EQ(Span("request").parent, 0U);
  EXPECT_FALSE(Span("commit").error);
}

TEST_F(CallSpanTest, ACallThatThrowsSaysWhyWithoutTheKey) {
  const Locked<json> held = documents_.Lock("a");
  EXPECT_THROW(InSpan(spans_, "lock", [&] { return documents_.Lock("a"); }), LockException);
  EXPECT_THROW(InSpan(spans_, "other", [] { throw std::runtime_error("secret"); }),
               std::runtime_error);
  EXPECT_TRUE(Span("lock").error);
  EXPECT_EQ(Span("lock").attributes.at("error.type"), "the lock is busy");
  EXPECT_EQ(Span("other").attributes.at("error.type"), "another exception");
}

TEST_F(CallSpanTest, ACoroutineNamesItsParentAndMakesNothingActive) {
  const auto request = [&]() -> boost::asio::awaitable<void> {
    const CallSpan mine(spans_, "request");
    const SpanContext parent = mine.span()->GetContext();
    Locked<json> held =
        co_await InSpanAsync(spans_, "lock", parent, documents_.LockAsync("a", use_awaitable));
    try {
      static_cast<void>(co_await InSpanAsync(spans_, "in vain", parent,
                                             documents_.LockAsync("a", use_awaitable)));
    } catch (const LockException&) {  // busy
    }
    co_await InSpanAsync(spans_, "release", parent, held.ReleaseAsync(use_awaitable));
    const CallSpan other(spans_, "other");
  };
  Run(request());
  EXPECT_EQ(ParentOf("lock"), "request");
  EXPECT_EQ(ParentOf("release"), "request");
  EXPECT_EQ(ParentOf("in vain"), "request");
  EXPECT_TRUE(Span("in vain").error);
  EXPECT_EQ(Span("other").parent, 0U);
}

TEST_F(CallSpanTest, ACallWithAFutureLastsUntilItsResult) {
  const CallSpan request(spans_, "request");
  const opentelemetry::trace::Scope active(request.span());
  {
    const CallSpan lock(spans_, "lock");
    auto held = documents_.LockAsync("a");
    held.get().Release();
  }
  EXPECT_EQ(Span("lock").parent, request.span()->GetContext().number());
}

}  // namespace
}  // namespace doclock::samples
