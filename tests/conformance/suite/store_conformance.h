#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "client.h"
#include "doclock/testing/manual_clock.h"

namespace doclock::conformance {

using testing::ManualClock;

/// A store under test: empty, and with a clock that the test moves.
struct Backend {
  /// Cleans up; destroyed last.
  std::shared_ptr<void> remains;
  std::shared_ptr<ManualClock> clock;
  std::shared_ptr<Store> store;
  /// Makes this much time pass for the store. Empty: it reads `clock`.
  std::function<void(std::chrono::milliseconds)> advance;
  /// How much shorter leases may be than the test made them, because a real server's time goes on.
  std::chrono::milliseconds slack{};
  /// Opens another store over the same data, as another process would. Empty: it cannot be shared.
  std::function<std::shared_ptr<Store>()> open_another;
  /// Opens one that creates nothing (OpenMode::kExisting). Empty: it has no such mode.
  std::function<std::shared_ptr<Store>()> open_existing = {};
  /// Breaks the connections by which stores hear each other's hints, as an outage does. They hear
  /// again soon. Empty: a test cannot.
  std::function<void()> lose_hints = {};
  /// Gives a document of a collection lock fields that this library never writes, among them a
  /// version that is none. Empty: a test cannot.
  std::function<void(const std::string& collection, const Key& key)> spoil;
  /// Gives one of a document's shares, which are there, a length of its lease that is none. Empty:
  /// a test cannot.
  std::function<void(const std::string& collection, const Key& key)> spoil_share = {};
  /// Creates a document as a program does that does not know locks. Its body is an object of whole
  /// numbers. Empty: a test cannot.
  std::function<void(const std::string& collection, const Key& key, const Body& body)> plant;
  /// Are bodies kept as JSON text says them? False: U+0000 in a text is refused, and -0.0 is 0.0.
  bool keeps_all_json = true;
  /// Are numbers written as they came? False: in the database's form of the same value.
  bool keeps_literals = true;
  /// The value as it is kept; another text if it has U+0000.
  [[nodiscard]] Json Kept(Json value) const;
};

/// The time of a store, as a test moves it.
class StoreTime {
 public:
  explicit StoreTime(const Backend& backend)
      : clock_(backend.clock), advance_(backend.advance), slack_(backend.slack) {}
  void Advance(std::chrono::milliseconds by) {
    if (advance_) {
      advance_(by);
    } else {
      clock_->Advance(by);
    }
  }
  /// Is `found` what a lease that had `expected` left when the test last looked has left now?
  [[nodiscard]] bool IsLeft(std::optional<std::chrono::milliseconds> found,
                            std::chrono::milliseconds expected) const {
    return found && *found <= expected && *found >= expected - slack_;
  }
  /// How long before its end a lease may still be reported as live.
  [[nodiscard]] std::chrono::milliseconds tick() const { return std::max(slack_, 1ms); }

 private:
  std::shared_ptr<ManualClock> clock_;
  std::function<void(std::chrono::milliseconds)> advance_;
  std::chrono::milliseconds slack_;
};

/// A kind of store.
struct StoreKind {
  std::string name;
  std::function<Backend()> make;
};

inline void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }

/// All stores that were built.
std::vector<StoreKind> AllStores();
/// The stores that need no server.
std::vector<StoreKind> LocalStores();

/// For INSTANTIATE_TEST_SUITE_P.
std::string NameOf(const ::testing::TestParamInfo<StoreKind>& kind);

/// The detail of an operation that was not done. If it has none, the test fails, and it is an empty
/// one.
const OpDetail& DetailOf(const StoreOp& op);

/// Waits for what other threads do. False: it does not come.
template <class Condition>
bool IsSoon(const Condition& is_true, std::chrono::milliseconds patience = 1s) {
  for (int i = 0; i < patience / 1ms; ++i) {
    if (is_true()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return is_true();
}

/// The suite. One collection, "things", is open.
class StoreConformance : public ::testing::TestWithParam<StoreKind> {
 protected:
  StoreConformance();

  StoreTime clock() { return StoreTime(backend_); }
  Store& store() { return *backend_.store; }
  Backend& backend() { return backend_; }
  /// A client of another collection.
  Client Open(const std::string& name) { return Client(backend_.store, name); }

  Backend backend_;
  Client things_;
};

/// The same from two stores over the same data, as two processes have them.
template <class Suite>
class OnTwoStores : public Suite {
 protected:
  void SetUp() override {
    if (!this->backend().open_another) GTEST_SKIP() << "this store belongs to one process";
    Suite::SetUp();
    other_store_ = this->backend().open_another();
    others_ = std::make_unique<Client>(other_store_);
  }

  std::shared_ptr<Store> other_store_;
  std::unique_ptr<Client> others_;
};

}  // namespace doclock::conformance

namespace doclock {
inline void PrintTo(OpStatus status, std::ostream* out) {
  static constexpr std::array kNames{"pending",  "done", "busy",   "missing",
                                     "conflict", "lost", "failed", "in doubt"};
  *out << kNames.at(static_cast<std::size_t>(status));
}
inline void PrintTo(const Key& key, std::ostream* out) { *out << key.ToString(); }
}  // namespace doclock
