// How to unit test code that locks: a memory store, a clock moved by hand, and a lock that is
// stolen at the worst moment. Nothing here sleeps, and no database is needed.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "doclock/doclock.h"
#include "doclock/testing/faulty_store.h"
#include "doclock/testing/manual_clock.h"

using namespace std::chrono_literals;

// ---- The code under test
// -------------------------------------------------------------------------

struct Parcel {
  std::string id;
  std::string status = "packed";
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Parcel, id, status)

namespace {

class Shipping {
 public:
  using Carrier = std::function<void(const Parcel&)>;

  Shipping(doclock::LockingRepository<Parcel> parcels, Carrier carrier)
      : parcels_(std::move(parcels)), carrier_(std::move(carrier)) {}

  enum class Outcome { kShipped, kBusy, kLost };

  [[nodiscard]] Outcome Ship(const std::string& id) const {
    auto parcel = parcels_.TryLock(id, {.ttl = 30s, .wait = 5s});
    if (!parcel) return Outcome::kBusy;
    carrier_(**parcel);  // slow, and out of our hands
    (*parcel)->status = "shipped";
    try {
      parcel->Release();
    } catch (const doclock::LockException&) {
      return Outcome::kLost;  // another client has it now; nothing was written
    }
    return Outcome::kShipped;
  }

 private:
  doclock::LockingRepository<Parcel> parcels_;
  Carrier carrier_;
};

// ---- Its tests
// -----------------------------------------------------------------------------------

class ShippingTest : public ::testing::Test {
 protected:
  ShippingTest() { parcels_.Insert(Parcel{"p1"}); }

  // Members are made in this order: the clock first, since all the others take the time from it.
  std::shared_ptr<doclock::testing::ManualClock> clock_ =
      std::make_shared<doclock::testing::ManualClock>();
  std::shared_ptr<doclock::Store> store_ = doclock::OpenMemoryStore({.clock = clock_});
  doclock::LockManager manager_{store_, {.runtime = clock_->runtime()}};
  doclock::LockingRepository<Parcel> parcels_{manager_, "parcels"};
};

TEST_F(ShippingTest, ShipsAParcel) {
  const Shipping shipping{parcels_, [](const Parcel&) {}};
  EXPECT_EQ(shipping.Ship("p1"), Shipping::Outcome::kShipped);
  EXPECT_EQ((*parcels_.Find("p1"))->status, "shipped");
}

TEST_F(ShippingTest, KeepsTheLockWhileTheCarrierTakesAnHour) {
  // The lease of 30 s is renewed in the background, here in virtual time.
  const Shipping shipping{parcels_, [&](const Parcel&) { clock_->Advance(1h); }};
  EXPECT_EQ(shipping.Ship("p1"), Shipping::Outcome::kShipped);
}

TEST_F(ShippingTest, GivesUpWhenAnotherProcessKeepsTheParcel) {
  // A manager with a runtime of its own behaves as another process would.
  const doclock::LockManager other{store_, {.runtime = clock_->runtime()}};
  const doclock::LockingRepository<Parcel> theirs{other, "parcels"};
  const auto held = theirs.Lock("p1");

  const Shipping shipping{parcels_, [](const Parcel&) { FAIL() << "not ours to ship"; }};
  const auto before = clock_->Now();
  EXPECT_EQ(shipping.Ship("p1"), Shipping::Outcome::kBusy);
  EXPECT_GE(clock_->Now() - before, 5s);  // it did wait, in no time at all
}

TEST_F(ShippingTest, WritesNothingOverAnotherOwnersWork) {
  const Shipping shipping{
      parcels_, [&](const Parcel&) { doclock::testing::StealLock(*store_, "parcels", "p1"); }};
  EXPECT_EQ(shipping.Ship("p1"), Shipping::Outcome::kLost);
  EXPECT_EQ((*parcels_.Find("p1"))->status, "packed");
}

}  // namespace
