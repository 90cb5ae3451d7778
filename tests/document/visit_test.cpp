#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "doclock/open_store.h"
#include "doclock/store/store.h"

namespace doclock {
namespace {

std::string KindOf(const AcquireOp&) { return "acquire"; }
std::string KindOf(const RenewOp&) { return "renew"; }
std::string KindOf(const WriteOp&) { return "write"; }
std::string KindOf(const SaveOp&) { return "save"; }
std::string KindOf(const ReadOp&) { return "read"; }

// An operation keeps the address of its key, which must not be that of a temporary.
template <typename Op>
constexpr bool kRefusesTemporaries = std::is_constructible_v<Op, Collection&, Key&> &&
                                     std::is_constructible_v<Op, Collection&, const Key&> &&
                                     !std::is_constructible_v<Op, Collection&, Key> &&
                                     !std::is_constructible_v<Op, Collection&, const Key> &&
                                     !std::is_constructible_v<Op, Collection&, const char*> &&
                                     !std::is_constructible_v<Op, Collection&, Key, std::size_t>;
static_assert(kRefusesTemporaries<AcquireOp> && kRefusesTemporaries<RenewOp> &&
              kRefusesTemporaries<WriteOp> && kRefusesTemporaries<SaveOp> &&
              kRefusesTemporaries<ReadOp>);
static_assert(std::is_constructible_v<OpKey, const Key&, std::size_t> &&
              !std::is_constructible_v<OpKey, Key, std::size_t> &&
              !std::is_constructible_v<OpKey, const Key, std::size_t>);

class Visiting : public ::testing::Test {
 protected:
  const std::shared_ptr<Store> store_ = OpenMemoryStore();
  const std::shared_ptr<Collection> collection_ =
      store_->Open("orders", LockFieldNames(), std::chrono::seconds(30));
  const Key key_{"42"};
};

TEST_F(Visiting, ShowsEachOperationAsWhatItIs) {
  const auto kind_of = [](const StoreOp& op) {
    return Visit(op, [](const auto& one) { return KindOf(one); });
  };
  EXPECT_EQ(kind_of(AcquireOp(*collection_, key_)), "acquire");
  EXPECT_EQ(kind_of(RenewOp(*collection_, key_)), "renew");
  EXPECT_EQ(kind_of(WriteOp(*collection_, key_)), "write");
  EXPECT_EQ(kind_of(SaveOp(*collection_, key_)), "save");
  EXPECT_EQ(kind_of(ReadOp(*collection_, key_)), "read");
}

TEST_F(Visiting, ShowsTheOperationItselfAsConstAsItWas) {
  SaveOp save(*collection_, key_);
  StoreOp& op = save;
  const StoreOp* const shown = Visit(op, [](auto& one) -> const StoreOp* {
    static_assert(!std::is_const_v<std::remove_reference_t<decltype(one)>>);
    return &one;
  });
  EXPECT_EQ(shown, &op);
  Visit(std::as_const(op),
        [](auto& one) { static_assert(std::is_const_v<std::remove_reference_t<decltype(one)>>); });
}

}  // namespace
}  // namespace doclock
