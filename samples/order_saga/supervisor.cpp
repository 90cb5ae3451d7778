#include "supervisor.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <map>

#include "progress.h"
#include "report.h"
#include "worker_process.h"

namespace order_saga {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

constexpr auto kLook = 50ms;
/// A run this much longer than a lease without any step is stuck.
constexpr auto kTimeout = 30s;
/// With fewer steps than this the run could be over before a kill is due, so it is due at once.
constexpr std::size_t kShortRun = 400;

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

class Supervisor {
 public:
  Supervisor(const Options& options, const Place& place, const SagaRepository& sagas,
             std::size_t total)
      : options_(options), place_(place), sagas_(sagas), total_(total), progress_(total) {}

  Outcome Run() {
    for (int number = 1; number <= options_.workers; ++number) {
      workers_.emplace_back(WorkerOptions{.number = number,
                                          .store = place_.store,
                                          .collection = place_.collection,
                                          .journal = place_.journal(number),
                                          .ttl = std::chrono::milliseconds(options_.ttl_ms)});
    }
    while (!Finished()) {
      AskForVictim();
      RunHalfWayCommand();
      Listen();
      progress_.Show(done_, outcome_.steps, outcome_.take_overs);
    }
    outcome_.seconds = progress_.Elapsed();
    StopWorkers();
    CheckHalfWayCommand();
    progress_.Finish(done_, outcome_.steps, outcome_.take_overs);
    if (outcome_.killed < options_.kill) {
      outcome_.fails.push_back("only " + std::to_string(outcome_.killed) + " of " +
                               std::to_string(options_.kill) +
                               " workers could be killed before all was done");
    }
    return std::move(outcome_);
  }

 private:
  /// Reports only say when it is worth asking; the store has the last word.
  bool Finished() {
    if (std::all_of(workers_.begin(), workers_.end(),
                    [](const WorkerProcess& worker) { return worker.reports() < 0; })) {
      outcome_.fails.emplace_back("no worker is left");
      return true;
    }
    if (SteadyClock::now() - last_step_ > kTimeout + std::chrono::milliseconds(options_.ttl_ms)) {
      outcome_.fails.emplace_back("no step was done for a long time");
      return true;
    }
    if (done_ < total_ && SteadyClock::now() - looked_ < 1s) return false;
    looked_ = SteadyClock::now();
    try {
      return sagas_.Find(doclock::Filter{}.Equal("done", false).Limit(1)).empty();
    } catch (const doclock::StoreException& error) {
      if (!error.transient()) throw;
      return false;  // the store is unavailable; the workers wait for it too
    }
  }

  void RunHalfWayCommand() {
    if (options_.half_way.empty() || half_way_.valid() ||
        outcome_.steps < total_ * kSteps.size() / 2) {
      return;
    }
    half_way_ =
        std::async(std::launch::async, [this] { return std::system(options_.half_way.c_str()); });
  }

  void CheckHalfWayCommand() {
    if (options_.half_way.empty()) return;
    if (!half_way_.valid()) {
      outcome_.fails.emplace_back("the command for half-way was not run");
    } else if (half_way_.get() != 0) {
      outcome_.fails.emplace_back("the command for half-way failed");
    }
  }

  /// When a kill is due, every worker is asked to sit on its next lock. The first to say that it
  /// does is the one to die, so it surely dies while it holds a lock.
  void AskForVictim() {
    const std::size_t steps = total_ * kSteps.size();
    const auto part = static_cast<std::size_t>(outcome_.killed + 1);
    const std::size_t due =
        steps < kShortRun ? 0 : steps * part / static_cast<std::size_t>(options_.kill + 1);
    if (asked_ || outcome_.killed >= options_.kill || outcome_.steps < due) return;
    asked_ = true;
    TellAll(kHold);
  }

  void TellAll(char letter) {
    for (WorkerProcess& worker : workers_) worker.Tell(letter);
  }

  void Listen() {
    std::vector<pollfd> inputs;
    for (const WorkerProcess& worker : workers_) {
      inputs.push_back({worker.reports(), POLLIN, 0});  // poll skips those below 0
    }
    if (::poll(inputs.data(), inputs.size(), static_cast<int>(kLook.count())) <= 0) return;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].revents != 0) Hear(workers_[i]);
    }
  }

  void Hear(WorkerProcess& worker) {
    for (const Report& report : worker.Read()) {
      switch (report.event) {
        case Event::kHeld:
          KillHolder(worker, report);
          break;
        case Event::kStep:
          CountStep(worker, report);
          break;
        case Event::kLost:
          ++outcome_.lost;
          orphans_.insert_or_assign(report.saga, Orphan{worker.number(), SteadyClock::now()});
          break;
      }
    }
    if (worker.reports() < 0) Bury(worker);
  }

  void KillHolder(WorkerProcess& worker, const Report& report) {
    if (!asked_) return;  // another one was first, and this one has been told to go on
    asked_ = false;
    worker.Kill();
    ++outcome_.killed;
    CountTakeOver(worker, report);
    orphans_.insert_or_assign(report.saga, Orphan{worker.number(), SteadyClock::now()});
    TellAll(kGo);
  }

  void CountStep(const WorkerProcess& worker, const Report& report) {
    last_step_ = SteadyClock::now();
    ++outcome_.steps;
    if (report.step == kSteps.back()) ++done_;
    outcome_.longest_wait = std::max(outcome_.longest_wait, report.waited);
    CountTakeOver(worker, report);
  }

  void CountTakeOver(const WorkerProcess& worker, const Report& report) {
    const auto orphan = orphans_.find(report.saga);
    if (orphan == orphans_.end()) return;
    if (orphan->second.worker != worker.number()) {
      ++outcome_.take_overs;
      outcome_.slowest_take_over =
          std::max(outcome_.slowest_take_over, SecondsSince(orphan->second.since));
    }
    orphans_.erase(orphan);
  }

  /// A worker closes its pipe only by ending. You may kill some by hand: that is what it is about.
  void Bury(WorkerProcess& worker) {
    const bool expected = worker.killed();
    if (const auto trouble = worker.Wait()) {
      outcome_.fails.push_back("worker " + std::to_string(worker.number()) + " " + *trouble);
    } else if (worker.killed() && !expected) {
      ++outcome_.killed;
    }
  }

  void StopWorkers() {
    const auto deadline = SteadyClock::now() + 10s;
    for (WorkerProcess& worker : workers_) worker.Stop();
    while (SteadyClock::now() < deadline &&
           std::any_of(workers_.begin(), workers_.end(),
                       [](const WorkerProcess& worker) { return worker.reports() >= 0; })) {
      Listen();
    }
    for (WorkerProcess& worker : workers_) {
      if (worker.reports() < 0) continue;
      outcome_.fails.push_back("worker " + std::to_string(worker.number()) + " did not stop");
      worker.Kill();
    }
  }

  struct Orphan {
    int worker;
    SteadyClock::time_point since;
  };

  const Options& options_;
  const Place& place_;
  const SagaRepository& sagas_;
  const std::size_t total_;
  Progress progress_;
  std::vector<WorkerProcess> workers_;
  Outcome outcome_;
  std::future<int> half_way_;  ///< The command's exit status.
  std::size_t done_ = 0;
  bool asked_ = false;
  /// Sagas whose worker was killed or lost the lock, until another worker goes on with them.
  std::map<std::string, Orphan> orphans_;
  SteadyClock::time_point last_step_ = SteadyClock::now();
  SteadyClock::time_point looked_ = SteadyClock::now();
};

}  // namespace

Outcome Supervise(const Options& options, const Place& place, const SagaRepository& sagas,
                  std::size_t total) {
  std::signal(SIGPIPE, SIG_IGN);  // writing to a worker that has just died is no reason to die
  return Supervisor(options, place, sagas, total).Run();
}

}  // namespace order_saga
