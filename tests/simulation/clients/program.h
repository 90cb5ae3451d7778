#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "doclock/lock_provider.h"
#include "doclock/locking_repository.h"
#include "simulation/database/entry.h"
#include "simulation/database/network.h"
#include "simulation/database/simulated_store.h"
#include "simulation/machine/completion.h"

namespace doclock::simulation {

/// The longest lease that anybody asks for.
inline constexpr std::chrono::milliseconds kLongestLease{5000};

/// A locked document on its way to any process, which may release it by value.
struct Letter {
  Entry entry;
  std::int64_t fence;
};
using Letters = std::deque<Letter>;

/// A program that uses the library, from its start to its end.
class Program {
 public:
  Program(int number, Process& process, Network& network, Database& database,
          Invariants& invariants, Letters& letters, Breakage breakage);

  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] Process& process() noexcept { return process_; }
  [[nodiscard]] Invariants& invariants() noexcept { return invariants_; }
  [[nodiscard]] Database& database() noexcept { return database_; }
  [[nodiscard]] const LockManager& manager() const noexcept { return *manager_; }
  [[nodiscard]] Letters& letters() noexcept { return letters_; }
  [[nodiscard]] Breakage breakage() const noexcept { return breakage_; }
  [[nodiscard]] bool killed() const noexcept { return killed_; }

  /// As kill -9 does, seen from outside: what its threads still do reaches nobody.
  void Kill();
  /// On a thread of its own.
  void Close() { manager_->Close(); }

  /// Starts an asynchronous verb and waits for its handler. `patience`: then it is cancelled.
  /// `on_complete`: is called by the handler, or if the verb throws.
  template <class Result, class Start>
  Result Await(const std::string& what, const Start& start,
               std::optional<std::chrono::nanoseconds> patience = std::nullopt,
               std::function<void(bool granted)> on_complete = nullptr) {
    const auto completion = std::make_shared<Completion<Result>>(process_, invariants_, breakage_);
    completion->on_complete = std::move(on_complete);
    if (!killed_) completion->token = invariants_.BeginToken(number_, Name() + ": " + what);
    try {
      start(Handler<Result>(completion));
    } catch (...) {
      invariants_.ForgetToken(completion->token);
      if (completion->on_complete) completion->on_complete(false);
      throw;
    }
    if (patience) {
      process_.StartTimer(process_.Now() + *patience, [completion] {
        completion->cancel.emit(boost::asio::cancellation_type::terminal);
      });
    }
    completion->over.Wait();
    if (completion->error) std::rethrow_exception(completion->error);
    return std::move(*completion->result);
  }

  /// "p1.2": the second program on process 1.
  [[nodiscard]] std::string Name() const { return process_.name() + "." + std::to_string(number_); }

 private:
  const int number_;
  Process& process_;
  Database& database_;
  Invariants& invariants_;
  Letters& letters_;
  const Breakage breakage_;
  bool killed_ = false;
  std::shared_ptr<SimulatedStore> store_;
  std::optional<LockManager> manager_;

 public:
  std::optional<LockingRepository<Entry>> entries;
  std::optional<LockProvider> names;
  std::optional<LockProvider> old_names;  ///< A purge may forget them.
};

}  // namespace doclock::simulation
