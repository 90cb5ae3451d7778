#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "simulation/database/breakage.h"
#include "simulation/invariants/invariants.h"
#include "simulation/machine/process.h"

namespace doclock::simulation {

/// Runs handlers on the threads of a simulated machine.
class ProcessExecutor {
 public:
  explicit ProcessExecutor(Process& process) noexcept : process_(&process) {}

  template <class F>
  void execute(F task) const {  // NOLINT(readability-identifier-naming): Asio's name
    process_->Post([shared = std::make_shared<F>(std::move(task))] { std::move (*shared)(); });
  }
  // NOLINTNEXTLINE(readability-identifier-naming): Asio asks whether it may block the caller
  static constexpr boost::asio::execution::blocking_t query(
      boost::asio::execution::blocking_t) noexcept {
    return boost::asio::execution::blocking_t::never;
  }
  friend bool operator==(const ProcessExecutor&, const ProcessExecutor&) noexcept = default;

 private:
  Process* process_;
};

/// For operations without a result.
struct Nothing {};

/// An asynchronous operation, and the thread that waits for it.
template <class Result>
struct Completion {
  Completion(Process& of, Invariants& rules, Breakage broken)
      : process(of), invariants(rules), breakage(broken), over(of) {}
  Process& process;
  Invariants& invariants;
  const Breakage breakage;
  int token = 0;
  Latch over;
  boost::asio::cancellation_signal cancel;
  std::exception_ptr error;
  std::optional<Result> result;
  std::function<void(bool granted)> on_complete;

  void Complete() {
    const bool breaks = process.random().Chance(50);
    if (breaks && breakage == Breakage::kOvertakes && on_complete) {
      process.After(std::chrono::milliseconds(200),
                    [told = on_complete, granted = !error] { told(granted); });
    } else if (on_complete) {
      on_complete(!error);
    }
    if (!(breaks && breakage == Breakage::kNeverCompletes)) invariants.CompleteToken(token);
    if (breaks && breakage == Breakage::kCompletesTwice) invariants.CompleteToken(token);
    over.Open();
  }
};

/// The completion token of an operation.
template <class Result>
class Handler {
 public:
  using executor_type = ProcessExecutor;                          // NOLINT: Asio's name
  using cancellation_slot_type = boost::asio::cancellation_slot;  // NOLINT: Asio's name
  explicit Handler(std::shared_ptr<Completion<Result>> of) : completion_(std::move(of)) {}

  // NOLINTNEXTLINE(readability-identifier-naming)
  [[nodiscard]] executor_type get_executor() const noexcept {
    return ProcessExecutor(completion_->process);
  }
  // NOLINTNEXTLINE(readability-identifier-naming)
  [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept {
    return completion_->cancel.slot();
  }

  void operator()(std::exception_ptr error) const {
    completion_->error = std::move(error);
    if (!completion_->error) completion_->result.emplace();
    completion_->Complete();
  }
  void operator()(std::exception_ptr error, Result result) const {
    completion_->error = std::move(error);
    completion_->result.emplace(std::move(result));
    completion_->Complete();
  }

 private:
  std::shared_ptr<Completion<Result>> completion_;
};

}  // namespace doclock::simulation
