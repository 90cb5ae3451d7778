#include "simulation/simulation.h"

#include <utility>

#include "engine/runtime/jitter.h"
#include "simulation/clients/program.h"
#include "simulation/clients/workload.h"
#include "simulation/database/network.h"

namespace doclock::simulation {
namespace {

using namespace std::chrono_literals;
using Kind = Fault::Kind;

/// After the faults, operations have this long to end.
constexpr Time kCalm = 20s;
/// All locks are asked for then, and can be had within this.
constexpr Time kFinale = 120s;

/// A world with everything in it. Members are destroyed in the opposite order.
class Run {
 public:
  Run(const Plan& plan, Breakage breakage, bool told)
      : plan_(plan),
        breakage_(breakage),
        story_(world_, told),
        invariants_(world_, story_),
        database_(world_, invariants_, breakage),
        network_(world_, database_, story_, Mix(plan.seed, HashOf("network")), breakage) {
    detail::SeedJitter(Mix(plan.seed, HashOf("jitter")));
    for (int i = 0; i < plan.processes; ++i) {
      processes_.push_back(std::make_unique<Process>(
          world_, i, Mix(plan.seed, HashOf("process " + std::to_string(i)))));
    }
  }

  Outcome Play() {
    InsertDocuments();
    for (const auto& process : processes_) StartProgram(*process);
    for (const Fault& fault : plan_.faults) PlanFault(fault);
    for (const Operation& operation : plan_.operations) PlanOperation(operation);
    const bool ended = PlayAll();
    if (!ended) {
      invariants_.Break("everything ends", "too much happens");
      Abandon();
    }
    if (ended && fibers_->running() > 0) {
      invariants_.Break("everything ends", "a thread waits for ever");
    }
    invariants_.CheckTheEnd();
    return {
        invariants_.violation(), story_.lines(), world_.events(), invariants_.writes(),
        Mix(world_.events(),
            static_cast<std::uint64_t>(database_.Now().time_since_epoch().count()) + last_event_)};
  }

 private:
  void InsertDocuments();
  void StartProgram(Process& process);
  void EndProgram(Process& process);
  void PlanOperation(const Operation& operation);
  void PlanFault(const Fault& fault);
  void Begin(const Fault& fault);
  void End(const Fault& fault);
  bool PlayAll();
  /// Programs whose threads will not go on cannot be closed.
  void Abandon();

  const Plan& plan_;
  const Breakage breakage_;
  std::unique_ptr<Fibers> fibers_ = std::make_unique<Fibers>();
  World world_{*fibers_};
  Story story_;
  Invariants invariants_;
  Letters letters_;
  Database database_;
  Network network_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<int, std::shared_ptr<Program>> programs_;  ///< Of each process, the one that runs.
  int last_program_ = 0;
  std::uint64_t last_event_ = 0;
};

void Run::InsertDocuments() {
  const auto collection = database_.store().Open("entries", LockFieldNames(), kLongestLease);
  if (breakage_ != Breakage::kIgnoresIndexes) {
    database_.store().EnsureIndex(*collection, {.fields = {"seat"}, .unique = true});
  }
  for (const char* name : kDocuments) {
    const Key key(name);
    Entry entry{name};
    entry.Continue(invariants_.NewWrite(std::string("entries/") + name, 0));
    SaveOp insert(*collection, key);
    insert.request.save = SaveKind::kInsert;
    insert.request.write_id = NewUuid();
    insert.request.body = Body::FromJson(nlohmann::json(entry));
    StoreOp* const one[] = {&insert};
    database_.store().Execute(one, 1000ms);
    invariants_.Settle(entry.write, Fate::kDone);
  }
}

void Run::StartProgram(Process& process) {
  programs_[process.number()] = std::make_shared<Program>(
      ++last_program_, process, network_, database_, invariants_, letters_, breakage_);
}

void Run::EndProgram(Process& process) {
  const auto found = programs_.find(process.number());
  if (found == programs_.end()) return;
  process.StartThread([program = std::move(found->second)] { program->Close(); });
  programs_.erase(found);
}

void Run::PlanOperation(const Operation& operation) {
  Process& process = *processes_[static_cast<std::size_t>(operation.process)];
  world_.At(operation.at, [this, &process, &operation] {
    const auto program = programs_.find(process.number());
    if (program == programs_.end()) return;
    process.StartThread([this, program = program->second, &operation] {
      simulation::Play(program, story_, operation);
    });
  });
}

void Run::PlanFault(const Fault& fault) {
  world_.At(fault.from, [this, &fault] {
    story_.Tell(TextOf(fault));
    Begin(fault);
  });
  world_.At(fault.to, [this, &fault] { End(fault); });
}

void Run::Begin(const Fault& fault) {
  Process& process = *processes_[static_cast<std::size_t>(fault.process)];
  Weather& weather = network_.weather(fault.process);
  const int amount = static_cast<int>(fault.amount);
  switch (fault.kind) {
    case Kind::kLoseRequests:
      weather.lose_requests = amount;
      break;
    case Kind::kLoseReplies:
      weather.lose_replies = amount;
      break;
    case Kind::kRepeat:
      weather.repeat = amount;
      break;
    case Kind::kLate:
      weather.late = amount;
      break;
    case Kind::kSlow:
      weather.slow = std::chrono::milliseconds(amount);
      break;
    case Kind::kCut:
      weather.cut = true;
      break;
    case Kind::kLoseHints:
      weather.lose_hints = amount;
      break;
    case Kind::kSlowHints:
      weather.slow_hints = std::chrono::milliseconds(amount);
      break;
    case Kind::kPause:
      return process.Pause();
    case Kind::kDrift:
    case Kind::kSlowClock:
    case Kind::kFastClock:
    case Kind::kStopClock:
      return process.SetClockRate(fault.amount);
    case Kind::kJumpClock:
      return process.JumpClock(std::chrono::milliseconds(fault.amount));
    case Kind::kKill:
      if (programs_.contains(fault.process)) programs_[fault.process]->Kill();
      [[fallthrough]];
    case Kind::kClose:
      return EndProgram(process);
    case Kind::kFailOver:
      return database_.LosePrimary();
    case Kind::kDepose:
      return database_.Depose(fault.process, std::chrono::milliseconds(fault.amount), fault.to);
    case Kind::kNoMajority:
      return database_.StopReplication();
    case Kind::kLeapDatabaseClock:
      invariants_.OnLeap();
      return database_.LeapClock(std::chrono::milliseconds(fault.amount));
  }
}

void Run::End(const Fault& fault) {
  Process& process = *processes_[static_cast<std::size_t>(fault.process)];
  Weather& weather = network_.weather(fault.process);
  switch (fault.kind) {
    case Kind::kLoseRequests:
      weather.lose_requests = 0;
      break;
    case Kind::kLoseReplies:
      weather.lose_replies = 0;
      break;
    case Kind::kRepeat:
      weather.repeat = 0;
      break;
    case Kind::kLate:
      weather.late = 0;
      break;
    case Kind::kSlow:
      weather.slow = {};
      break;
    case Kind::kCut:
      weather.cut = false;
      break;
    case Kind::kLoseHints:
      weather.lose_hints = 0;
      break;
    case Kind::kSlowHints:
      weather.slow_hints = {};
      break;
    case Kind::kPause:
      return process.GoOn();
    case Kind::kDrift:
    case Kind::kSlowClock:
    case Kind::kFastClock:
    case Kind::kStopClock:
      return process.SetClockRate(SkewedClock::kTrue);
    case Kind::kJumpClock:
    case Kind::kLeapDatabaseClock:
    case Kind::kDepose:  // the database ends it by itself
      return;
    case Kind::kKill:
    case Kind::kClose:
      if (!programs_.contains(fault.process)) StartProgram(process);
      return;
    case Kind::kFailOver:
      return database_.ElectPrimary(std::chrono::milliseconds(fault.amount));
    case Kind::kNoMajority:
      return database_.ResumeReplication();
  }
}

void Run::Abandon() {
  static auto& abandoned = *new std::vector<std::shared_ptr<Program>>();  // never destroyed
  for (auto& [number, program] : programs_) abandoned.push_back(std::move(program));
}

bool Run::PlayAll() {
  if (!world_.PlayUntil(kFaultsEnd + kCalm)) return false;
  // Requests that are still under way may lock what nobody holds.
  while (network_.last_arrival() >= world_.now()) {
    if (!world_.PlayUntil(network_.last_arrival() + 1s)) return false;
  }
  for (const auto& [number, program] : programs_) {
    program->process().StartThread([this, program = program] { LockEverything(program, story_); });
  }
  if (!world_.PlayUntil(world_.now() + kFinale)) return false;
  for (const auto& process : processes_) EndProgram(*process);
  last_event_ = world_.events();
  return world_.PlayToTheEnd();
}

}  // namespace

Outcome Simulate(const Plan& plan, Breakage breakage, bool told) {
  return Run(plan, breakage, told).Play();
}

}  // namespace doclock::simulation
