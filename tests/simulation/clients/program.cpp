#include "simulation/clients/program.h"

#include "doclock/observer.h"
#include "simulation/machine/process_runtime.h"

namespace doclock::simulation {
namespace {

using std::chrono::milliseconds;

class Grants : public Observer {
 public:
  Grants(int program, Invariants& invariants) : program_(program), invariants_(invariants) {}
  void OnGranted(const LockEvent& event, std::chrono::nanoseconds, bool handed_over) override {
    invariants_.OnGranted(program_, NameOf(event), handed_over);
  }
  void OnWaiting(const LockEvent& event) override {
    invariants_.queues().OnWaiting(program_, NameOf(event));
  }
  void OnWaitEnded(const LockEvent& event) override {
    invariants_.queues().OnWaitEnded(program_, NameOf(event));
  }

 private:
  static std::string NameOf(const LockEvent& event) {
    return std::string(event.collection) + "/" + event.key.ToString();
  }

  const int program_;
  Invariants& invariants_;
};

}  // namespace

Program::Program(int number, Process& process, Network& network, Database& database,
                 Invariants& invariants, Letters& letters, Breakage breakage)
    : number_(number),
      process_(process),
      database_(database),
      invariants_(invariants),
      letters_(letters),
      breakage_(breakage),
      store_(std::make_shared<SimulatedStore>(process, network, database)) {
  ManagerOptions options;
  options.owner = Name();
  options.observer = std::make_shared<Grants>(number, invariants);
  options.call_budget = milliseconds(1000);
  options.drain_timeout = milliseconds(1000);
  options.max_handovers = breakage == Breakage::kHandsOverForEver ? 1000 : kMaxHandovers;
  options.runtime = std::make_shared<ProcessRuntime>(process);
  manager_.emplace(store_, options);
  RepositoryOptions repository;
  repository.ttl = kLongestLease;
  repository.update_retries = 2;
  repository.update_wait = milliseconds(3000);
  entries.emplace(*manager_, "entries", repository);
  names.emplace(*manager_, "names", LockProviderOptions{.ttl = kLongestLease});
  old_names.emplace(*manager_, "old", LockProviderOptions{.ttl = kLongestLease});
}

void Program::Kill() {
  killed_ = true;
  store_->Kill();
  invariants_.Kill(number_);
}

}  // namespace doclock::simulation
