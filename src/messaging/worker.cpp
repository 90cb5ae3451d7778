#include "doclock/worker.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "doclock/errors.h"
#include "document/json/typed_value.h"
#include "engine/engine.h"
#include "messaging/retry.h"

namespace doclock {
namespace {

using nlohmann::json;

int CountIn(const json& in, const char* member) {
  const auto found = in.find(member);
  if (found == in.end()) return 0;
  detail::Require(found->is_number_integer(),
                  std::string("doclock: ") + member + " of the attempts is no whole number");
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > kMost) {
    return std::numeric_limits<int>::max();
  }
  return static_cast<int>(std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, kMost));
}

template <class V>
void TakeIfThere(const json& in, const char* member, bool fits(const json&), V& value) {
  const auto found = in.find(member);
  if (found == in.end()) return;
  detail::Require(fits(*found),
                  std::string("doclock: ") + member + " of the attempts has another type");
  found->get_to(value);
}

}  // namespace

void to_json(json& out, const Attempts& attempts) {
  out = {{"failures", attempts.failures},
         {"interruptions", attempts.interruptions},
         {"due", attempts.due},
         {"parked", attempts.parked},
         {"error", attempts.error}};
}

void from_json(const json& in, Attempts& attempts) {
  detail::Require(in.is_object(), "doclock: the attempts are no object");
  Attempts read{.failures = CountIn(in, "failures"), .interruptions = CountIn(in, "interruptions")};
  TakeIfThere(
      in, "due", [](const json& value) { return value.is_object(); }, read.due);
  TakeIfThere(
      in, "parked", [](const json& value) { return value.is_boolean(); }, read.parked);
  TakeIfThere(
      in, "error", [](const json& value) { return value.is_string(); }, read.error);
  attempts = std::move(read);
}

Next Next::After(Duration pause) {
  detail::Require(pause >= Duration(), "doclock: Next::After takes a time that is not negative");
  return {Kind::kAfter, pause, {}};
}

namespace detail {
namespace {

/// How often a step is made again at once, from what is stored.
constexpr int kTriesNow = 5;
constexpr int kMostInterruptions = 20;
/// When a step is due after Next::Done.
constexpr Date kNever = Date::TimePoint::max();
/// The number of different documents whose steps fail in a row that makes an outage.
constexpr std::size_t kOutage = 3;
/// In an outage, one failure of so many counts.
constexpr int kFailuresForACount = 10;

bool FindPath(const json& wanted, const json& tree, std::vector<std::string>& path) {
  if (!tree.is_object()) return false;
  for (const auto& [name, value] : tree.items()) {
    path.push_back(name);
    if (value == wanted || FindPath(wanted, value, path)) return true;
    path.pop_back();
  }
  return false;
}

std::string Joined(const std::vector<std::string>& path, const char* member) {
  std::string joined;
  for (const std::string& name : path) joined += name + ".";
  return joined + member;
}

Filter CheckedFilter(const WorkSpec& spec) {
  const Filter& filter = spec.filter;
  const bool plain = filter.order().empty() && !filter.descending() && !filter.after() &&
                     filter.limit() == 0 && filter.lock_state() == Filter::LockState::kAny;
  Require(plain && !filter.has_due(),
          "doclock: the filter of a Worker has conditions alone, and no Due: no order, place, "
          "limit and lock state");
  const WorkOptions& options = spec.options;
  Require(options.threads >= 0 && options.threads <= 64, "WorkOptions::threads must be 0 to 64");
  CheckRetries(options, "WorkOptions");
  if (spec.transactional) TransactionState(spec.binding->engine);  // throws if there are none
  return filter;
}

/// The body with other attempts, and all else as it is stored.
/// @throws std::invalid_argument if something else is stored in their place
Body WithAttempts(const WorkSpec& spec, const Key& key, const Body& body,
                  const Attempts& attempts) {
  json tree = detail::TreeOf(body);
  json* place = &tree;
  for (const std::string& name : spec.path) {
    place = &(*place)[name];
    Require(place->is_object() || place->is_null(),
            "doclock: '" + name + "' of document '" + key.ToString() +
                "' is no object, so no attempts can be stored there");
  }
  place->update(json(attempts));
  return Seal(*spec.binding->collection, key, std::move(tree), body);
}

}  // namespace

Attempts ProbeAttempts() {
  return {
      .failures = 1'234'567, .interruptions = 7'654'321, .error = "doclock: which member is it?"};
}

std::vector<std::string> PathOf(const Attempts& unlike_others, const json& tree) {
  std::vector<std::string> path;
  Require(FindPath(unlike_others, tree, path),
          "doclock: the JSON form of the entity does not have its Attempts");
  Require(
      std::ranges::none_of(
          path,
          [](const std::string& name) { return name.empty() || name.find('.') != name.npos; }),
      "doclock: a filter cannot name the Attempts of the entity: a name has a dot, or is empty");
  return path;
}

/// A step under way, which Stop waits for.
class Work::Running {
 public:
  /// @param stop does not begin the step if it has fired: a Stop that does not see it has fired it
  Running(Work& work, const Key& key, const std::stop_token& stop) : work_(work) {
    const std::scoped_lock lock(work.mutex_);
    began_ = !stop.stop_requested();
    if (!began_) return;
    self_ = work.running_.insert(work.running_.end(), {std::this_thread::get_id(), key});
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (!began_) return;
    const std::scoped_lock lock(work_.mutex_);
    work_.running_.erase(self_);
    work_.changed_.notify_all();
  }
  [[nodiscard]] bool began() const noexcept { return began_; }

 private:
  Work& work_;
  bool began_ = false;
  std::list<StepUnderWay>::iterator self_;
};

Work::Work(WorkSpec spec)
    : spec_(std::move(spec)),
      due_(CheckedFilter(spec_)
               .Equal(Joined(spec_.path, "parked"), false)
               .Due(Joined(spec_.path, "due"))
               .OrderBy(Joined(spec_.path, "due"))) {}

void Work::Start() {
  try {
    for (int i = 0; i < spec_.options.threads; ++i) {
      threads_.emplace_back([self = shared_from_this()] { self->Loop(); });
    }
  } catch (...) {
    End();
    throw;
  }
}

void Work::End() noexcept {
  Stop(kForever);
  for (std::jthread& thread : threads_) {
    thread.get_id() == std::this_thread::get_id() ? thread.detach() : thread.join();
  }
  threads_.clear();
}

std::vector<Key> Work::Stop(Duration deadline) {
  stop_.request_stop();
  std::unique_lock lock(mutex_);
  const auto mark_own = [&](bool stops) {
    for (StepUnderWay& step : running_) {
      if (step.thread == std::this_thread::get_id()) step.stops = stops;
    }
  };
  mark_own(true);
  changed_.notify_all();
  // Steps that call Stop do not wait for each other.
  const auto have_ended = [&] { return std::ranges::all_of(running_, &StepUnderWay::stops); };
  if (deadline == kForever) {
    changed_.wait(lock, have_ended);
  } else {
    changed_.wait_for(lock,
                      std::min<std::chrono::milliseconds>(deadline.ms(), std::chrono::days(365)),
                      have_ended);
  }
  mark_own(false);
  std::vector<Key> keys;
  for (const StepUnderWay& step : running_) keys.push_back(step.key);
  return keys;
}

StepOutcome Work::RunOne(Duration wait, std::stop_token stop) {
  return Run(Search(wait, stop), stop);
}

/// Returns the grant of a due document; its lease is null if none is due.
Grant Work::Search(Duration wait, std::stop_token stop) const {
  AcquireResult found = AcquireNext(spec_.binding->engine,
                                    SpecFor(*spec_.binding, {.wait = wait}, due_), std::move(stop));
  if (!IsNothingFree(found.failure)) ThrowIf(found.failure);
  return std::move(found.grant);
}

/// Makes the step of a granted document. If `stop` has fired, makes none and gives the document
/// back.
StepOutcome Work::Run(Grant grant, const std::stop_token& stop) {
  const LeasePtr& lease = grant.lease;
  if (!lease) return StepOutcome::kNone;
  const Running running(*this, LeaseKey(*lease), stop);
  if (!running.began()) return StepOutcome::kNone;
  if (grant.took_over && CountInterruption(lease)) return StepOutcome::kParked;
  for (int tries = 0;; ++tries) {
    try {
      Step(lease);
      NoteSuccess();
      return StepOutcome::kStored;
    } catch (...) {
      const auto error = std::current_exception();
      // Lost, in doubt, closed: the document is not this worker's any more.
      if (!LeaseHeld(*lease)) throw;
      const Disposition what = Classify(error);
      if (what == Disposition::kStop && (stop.stop_requested() || stop_.stop_requested())) throw;
      if (what == Disposition::kRetryNow && tries < kTriesNow) continue;
      return Fail(lease, error,
                  what == Disposition::kDeadLetter || what == Disposition::kAcknowledge);
    }
  }
}

/// Makes the step, and stores what it did.
void Work::Step(const LeasePtr& lease) {
  const EnginePtr& engine = spec_.binding->engine;
  const auto entity = spec_.read(lease);
  const auto write = [&](const Next& next) -> HolderSpec {
    if (next.kind_ == Next::Kind::kErase) return {lease, WriteKind::kErase, Body()};
    const Date due = next.kind_ == Next::Kind::kAt ? next.due_ : In(next.pause_);
    return {lease, WriteKind::kRelease, entity->MakeBody({.due = due})};
  };
  if (!spec_.transactional) {
    HolderSpec own = write(entity->Step(nullptr));
    return ThrowIf(detail::Write(lease, own.kind, std::move(own.body)));
  }
  // Named first: so its values of unique indexes may go to documents that the step adds.
  const auto own = std::make_shared<HolderSpec>();
  const auto transaction = std::make_shared<TransactionState>(engine);
  transaction->Add(
      *spec_.binding, LeaseKey(*lease), [own] { return *own; }, [](auto) {});
  TransactionState::LendToStep(transaction,
                               [&](Transaction& lent) { *own = write(entity->Step(&lent)); });
  if (transaction->is_single()) {
    return ThrowIf(detail::Write(lease, own->kind, std::move(own->body)));
  }
  transaction->Commit();
}

StepOutcome Work::Fail(const LeasePtr& lease, const std::exception_ptr& error, bool for_good) {
  const Key key = LeaseKey(*lease);
  const WorkOptions& options = spec_.options;
  const std::optional<Duration> outage = for_good ? std::nullopt : Outage(key);
  Attempts attempts = AttemptsIn(LeaseBody(*lease));
  if (!outage && attempts.failures < std::numeric_limits<int>::max()) ++attempts.failures;
  attempts.interruptions = 0;
  attempts.error = TextOf(error);
  attempts.parked = for_good || (!outage && attempts.failures >= options.max_attempts);
  std::exception_ptr unsaved;
  try {
    if (!attempts.parked) {
      const Duration own = PauseAfter(attempts.failures, options);
      attempts.due = In(std::max(own, std::min(outage.value_or(own), options.retry_max)));
    }
    Write(lease, WriteKind::kRelease, attempts);
  } catch (...) {
    unsaved = std::current_exception();
  }
  if (options.on_failure) options.on_failure(key, attempts, error);
  if (unsaved) std::rethrow_exception(unsaved);
  return attempts.parked ? StepOutcome::kParked : StepOutcome::kFailed;
}

/// Counts an interruption. Returns true if it parks the document, false if a step may follow.
bool Work::CountInterruption(const LeasePtr& lease) {
  const Key key = LeaseKey(*lease);
  Attempts attempts = AttemptsIn(LeaseBody(*lease));
  if (attempts.interruptions < kMostInterruptions) ++attempts.interruptions;
  attempts.parked = attempts.interruptions == kMostInterruptions;
  if (!attempts.parked) {
    Write(lease, WriteKind::kCheckpoint, attempts);
    return false;
  }
  const auto error = std::make_exception_ptr(std::runtime_error(
      std::to_string(kMostInterruptions) + " workers in a row did not end a step of the document"));
  attempts.error = TextOf(error);
  Write(lease, WriteKind::kRelease, attempts);
  if (spec_.options.on_failure) spec_.options.on_failure(key, attempts, error);
  return true;
}

/// Stores other attempts, and all else as it was read. Drops the error's text if the document has
/// no room for it.
void Work::Write(const LeasePtr& lease, WriteKind kind, Attempts& attempts) const {
  const auto write = [&] {
    ThrowIf(detail::Write(lease, kind,
                          WithAttempts(spec_, LeaseKey(*lease), LeaseBody(*lease), attempts)));
  };
  try {
    return write();
  } catch (const Error& refused) {
    const bool is_too_large = refused.errc() == Errc::kDocument || refused.errc() == Errc::kRefused;
    if (!is_too_large || attempts.error.empty()) throw;
  }
  attempts.error.clear();
  write();
}

/// Returns the attempts of a stored body; new ones if it has none that can be read (T refuses it
/// then).
Attempts Work::AttemptsIn(const Body& body) const {
  try {
    return ValueAt(detail::TreeOf(body), spec_.path).get<Attempts>();
  } catch (const json::exception&) {
    return {};
  } catch (const std::invalid_argument&) {
    return {};
  }
}

/// Whether no search finds the body's document due, now or later.
bool Work::IsParked(const Body& body) const {
  const json& stored = ValueAt(detail::TreeOf(body), spec_.path);
  return !stored.is_object() || stored.value("parked", json()) != json(false) ||
         KindOf(stored.value("due", json())) != TypedKind::kDate;
}

/// A moment by the store's clock, which tells what is due.
Date Work::In(Duration pause) const {
  const Date::TimePoint now = spec_.manager.StoreTime().time();
  return pause.ms() > Date::TimePoint::max() - now ? Date::TimePoint::max() : now + pause.ms();
}

/// Notes a failed step. Returns how long the outage has lasted that the failure is put down to;
/// none if the failure counts for the document.
std::optional<Duration> Work::Outage(const Key& key) {
  const TimePoint now = spec_.binding->engine->Now();
  const std::scoped_lock lock(mutex_);
  if (failed_.size() < kOutage) {
    failed_.insert(key);
    if (failed_.size() < kOutage) return std::nullopt;
    outage_began_ = now;
    failures_in_outage_ = 0;
  }
  failures_in_outage_ = (failures_in_outage_ + 1) % kFailuresForACount;
  if (failures_in_outage_ == 0) return std::nullopt;
  return now - outage_began_;
}

void Work::NoteSuccess() {
  const std::scoped_lock lock(mutex_);
  failed_.clear();
}

void Work::Loop() noexcept {
  const std::stop_token stop = stop_.get_token();
  while (!stop.stop_requested()) {
    try {
      Grant grant = Search({}, stop);
      if (!grant.lease) {
        const std::scoped_lock lock(waiting_);
        grant = Search(kForever, stop);
      }
      Run(std::move(grant), stop);
    } catch (...) {
      if (stop.stop_requested() || spec_.binding->engine->closed()) return;
      if (spec_.options.on_error) spec_.options.on_error(std::current_exception());
      Pause(stop);
    }
  }
}

WorkStatus Work::Status() const {
  WorkStatus status;
  const Date now = spec_.manager.StoreTime();
  Query(spec_.binding->engine, *spec_.binding->collection, spec_.filter, [&](QueryRow&& row) {
    const Attempts attempts = AttemptsIn(row.body);
    if (row.locked) {
      ++status.locked;
    } else if (IsParked(row.body)) {
      ++status.parked;
    } else if (attempts.due <= now) {
      ++status.due;
    } else {
      ++(attempts.due == kNever ? status.done : status.waiting);
    }
    return true;
  });
  return status;
}

std::vector<ParkedWork> Work::Parked() const {
  std::vector<ParkedWork> all;
  Query(spec_.binding->engine, *spec_.binding->collection, spec_.filter, [&](QueryRow&& row) {
    if (!IsParked(row.body)) return true;
    Attempts attempts = AttemptsIn(row.body);
    if (!attempts.parked) attempts.error = "the document has no attempts that a worker understands";
    all.push_back({std::move(row.key), std::move(attempts)});
    return true;
  });
  return all;
}

bool Work::Retry(const Key& key) const {
  bool retried = false;
  const auto edit = [&](const Body& body) {
    retried = IsParked(body);
    return retried ? WithAttempts(spec_, key, body, {}) : body;
  };
  UpdateDocument(*spec_.binding, {key, edit, Body()}, {});
  return retried;
}

bool Work::Drop(const Key& key) const {
  const Binding& binding = *spec_.binding;
  const ReadResult found = Read(binding.engine, *binding.collection, key);
  ThrowIf(found.failure);
  if (!IsParked(found.body)) return false;
  SaveSpec erase;
  erase.collection = binding.collection.get();
  erase.key = key;
  erase.save = SaveKind::kErase;
  erase.expected = found.version;
  erase.born = found.born;
  ThrowIf(Save(binding.engine, std::move(erase)).failure);
  return true;
}

void Work::EnsureIndexes() const { EnsureIndexesOf(*spec_.binding, {due_}); }

}  // namespace detail
}  // namespace doclock
