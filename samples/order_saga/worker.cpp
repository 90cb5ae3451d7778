#include "worker.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "journal.h"
#include "line_file.h"
#include "report.h"
#include "saga.h"

namespace order_saga {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

/// Long enough to be caught in the middle of it.
constexpr auto kStepTime = 1ms;
/// How long one search for work waits, before it looks whether it is to end.
constexpr auto kSearchWait = 100ms;

/// Reads the supervisor's commands from standard input.
class Control {
 public:
  /// Is this worker to stop?
  bool Ended() {
    Listen(0);
    return ended_;
  }
  /// Is it to sit on the lock it has?
  bool HoldAsked() {
    Listen(0);
    return last_ == kHold;
  }
  /// Until it may go on, or is to stop; or for ever, if it is killed.
  void AwaitGo() {
    while (!ended_ && last_ == kHold) Listen(-1);
  }

 private:
  void Listen(int timeout) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (ended_ || ::poll(&input, 1, timeout) <= 0) return;
    std::array<char, 64> letters{};
    const ssize_t count = ::read(STDIN_FILENO, letters.data(), letters.size());
    if (count > 0) last_ = letters.at(static_cast<std::size_t>(count - 1));
    if (count == 0) ended_ = true;
  }

  char last_ = kGo;
  bool ended_ = false;
};

/// The standard output, for reports alone: a driver that prints something there prints it to the
/// standard error from now on.
int TakeStandardOutput() {
  const int reports = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (reports < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    throw std::system_error(errno, std::generic_category(), "standard output");
  }
  return reports;
}

class StepWorker {
 public:
  explicit StepWorker(const WorkerOptions& options)
      : number_(options.number),
        journal_(options.journal),
        // Short polls: a dead worker's sagas are to be found soon, also where no hint can come.
        manager_(doclock::OpenStore(options.store),
                 {.owner = "worker " + std::to_string(options.number),
                  .poll_min = 20ms,
                  .poll_max = 100ms}),
        sagas_(manager_, options.collection, {.ttl = options.ttl}) {}

  void Run() {
    worker_.EnsureIndexes();
    while (!control_.Ended()) {
      made_.reset();
      try {
        if (worker_.RunOne(kSearchWait) == doclock::StepOutcome::kStored) Acknowledge();
      } catch (const doclock::LockException&) {
        GiveUp();  // the lease ended: nothing was written, and another worker does the step
      } catch (const doclock::InDoubtException&) {
        GiveUp();  // the next holder sees whether the step is in its history
      } catch (const doclock::StoreException& error) {
        // A busy or unreachable store may be back soon. Anything else will not mend.
        if (!error.transient()) throw;
      }
      if (made_) idle_since_ = SteadyClock::now();
    }
  }

 private:
  doclock::Next Step(Saga& saga) {
    const std::chrono::duration<double> waited = SteadyClock::now() - idle_since_;
    made_ = Report{.event = Event::kHeld,
                   .saga = saga.id,
                   .step = std::string(NextStep(saga)),
                   .fence = saga.lock.version,
                   .waited = waited.count()};
    if (control_.HoldAsked()) {
      Send(*made_);
      control_.AwaitGo();
    }
    std::this_thread::sleep_for(kStepTime);  // here a real worker would call the payment service
    saga.history.push_back({made_->step, number_, made_->fence});
    saga.done = saga.history.size() == kSteps.size();
    return saga.done ? doclock::Next::Done() : doclock::Next::Now();
  }

  void Acknowledge() {
    // Only now: what stands in the journal must never be missing from the store.
    journal_.Append({made_->saga, made_->step, made_->fence});
    made_->event = Event::kStep;
    Send(*made_);
  }
  void GiveUp() {
    if (!made_) return;
    made_->event = Event::kLost;
    Send(*made_);
  }

  void Send(const Report& report) const { AppendLine(reports_, report); }

  const int reports_ = TakeStandardOutput();  // before anything may print
  const int number_;
  Control control_;
  Journal journal_;
  doclock::LockManager manager_;
  SagaRepository sagas_;
  doclock::Worker<Saga> worker_{sagas_,
                                &Saga::attempts,
                                doclock::Filter().Equal("done", false),
                                [this](Saga& saga) { return Step(saga); },
                                {.threads = 0}};
  std::optional<Report> made_;  ///< The step that is being made, or was made last.
  SteadyClock::time_point idle_since_ = SteadyClock::now();
};

}  // namespace

int RunWorker(const WorkerOptions& options) {
  StepWorker(options).Run();
  return EXIT_SUCCESS;
}

}  // namespace order_saga
