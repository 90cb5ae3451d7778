#include "lock_spans.h"

#include <algorithm>
#include <string_view>

namespace doclock::samples {
namespace {

using opentelemetry::trace::StatusCode;
using std::chrono::nanoseconds;

constexpr const char* kLost = "lost";
constexpr const char* kInDoubt = "in doubt";
constexpr const char* kTimedOut = "timed out";

const char* OutcomeOf(Errc code) {
  if (code == Errc::kTimedOut) return kTimedOut;
  return code == Errc::kCancelled ? "cancelled" : "busy";
}

bool IsError(std::string_view outcome) {
  return outcome == kLost || outcome == kInDoubt || outcome == kTimedOut;
}

void End(opentelemetry::trace::Span& span, const char* outcome,
         std::chrono::steady_clock::time_point at) {
  span.SetAttribute("doclock.outcome", outcome);
  if (IsError(outcome)) span.SetStatus(StatusCode::kError, outcome);
  opentelemetry::trace::EndSpanOptions options;
  options.end_steady_time = at;
  span.End(options);
}

}  // namespace

LockSpans::Moment LockSpans::Moment::Before(nanoseconds time) const {
  Moment earlier = *this;
  earlier.system -= std::chrono::duration_cast<std::chrono::system_clock::duration>(time);
  earlier.steady -= std::chrono::duration_cast<std::chrono::steady_clock::duration>(time);
  return earlier;
}

LockSpans::Span LockSpans::Start(const LockEvent& event, const Moment& start) const {
  opentelemetry::trace::StartSpanOptions options;
  options.start_system_time = start.system;
  options.start_steady_time = start.steady;
  Span span = tracer_->StartSpan("doclock.lock", options);
  const std::string collection(event.collection), key = event.key.ToString();
  span->SetAttribute("doclock.collection", opentelemetry::nostd::string_view(collection));
  span->SetAttribute("doclock.key", opentelemetry::nostd::string_view(key));
  return span;
}

void LockSpans::OnWaiting(const LockEvent& event) {
  documents_[NameOf(event)].waits.emplace_back();
}

void LockSpans::OnWaitEnded(const LockEvent& event) {
  Document& document = documents_[NameOf(event)];
  if (document.waits.empty()) return;
  document.over.push_back(document.waits.front());
  document.waits.pop_front();
}

void LockSpans::OnGranted(const LockEvent& event, nanoseconds waited, bool handed_over) {
  Document& document = documents_[NameOf(event)];
  if (!document.over.empty()) document.over.pop_front();
  const Moment now;
  Span span = Start(event, now.Before(waited));
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
  span->SetAttribute("doclock.waited_ms", static_cast<std::int64_t>(ms));
  span->SetAttribute("doclock.handed_over", handed_over);
  span->AddEvent("granted", now.system);
  document.held.push_back({std::move(span), now.steady, {}, nullptr});
}

void LockSpans::OnBusy(const LockEvent& event, Errc code, const LockHolder&) {
  const Name name = NameOf(event);
  Document& document = documents_[name];
  Moment start;
  if (!document.over.empty()) {
    start = document.over.front();
    document.over.pop_front();
  }
  End(*Start(event, start), OutcomeOf(code), std::chrono::steady_clock::now());
  Forget(name);
}

void LockSpans::OnRenewalFailing(const LockEvent& event, nanoseconds) {
  auto& held = documents_[NameOf(event)].held;
  if (!held.empty()) held.front().span->AddEvent("renewal failing", Moment().system);
}

void LockSpans::Note(const LockEvent& event, const char* outcome, nanoseconds held) {
  for (Held& lock : documents_[NameOf(event)].held) {
    if (lock.outcome != nullptr) continue;
    lock.outcome = outcome;
    lock.ended =
        lock.granted + std::chrono::duration_cast<std::chrono::steady_clock::duration>(held);
    return;
  }
}

void LockSpans::OnLost(const LockEvent& event) { Note(event, kLost, {}); }
void LockSpans::OnInDoubt(const LockEvent& event) { Note(event, kInDoubt, {}); }
void LockSpans::OnReleased(const LockEvent& event, nanoseconds held) {
  Note(event, "released", held);
}
void LockSpans::OnDiscarded(const LockEvent& event, nanoseconds held) {
  Note(event, "discarded", held);
}

void LockSpans::OnEnded(const LockEvent& event) {
  const Name name = NameOf(event);
  auto& held = documents_[name].held;
  auto lock = std::find_if(held.begin(), held.end(), [](const Held& l) { return l.outcome; });
  if (lock == held.end()) lock = held.begin();
  if (lock == held.end()) return Forget(name);
  const bool timed = lock->ended > lock->granted;
  End(*lock->span, lock->outcome != nullptr ? lock->outcome : "detached",
      timed ? lock->ended : std::chrono::steady_clock::now());
  held.erase(lock);
  Forget(name);
}

/// Keeps the map as small as what is under way.
void LockSpans::Forget(const Name& name) {
  const auto found = documents_.find(name);
  if (found == documents_.end()) return;
  const Document& document = found->second;
  if (document.waits.empty() && document.over.empty() && document.held.empty()) {
    documents_.erase(found);
  }
}

}  // namespace doclock::samples
