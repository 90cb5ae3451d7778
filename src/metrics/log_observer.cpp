#include "doclock/observer.h"

#include <array>
#include <charconv>
#include <stdexcept>
#include <string>
#include <utility>

#include "document/values/utf8.h"

namespace doclock {
namespace {

/// Any text on one line, as Key::ToString writes it.
std::string Plain(std::string_view text) {
  std::string plain;
  detail::AppendEscaped(plain, text);
  return plain;
}

std::string TimeText(std::chrono::nanoseconds time) {
  std::array<char, 40> text{};
  const double seconds = std::chrono::duration<double>(time).count();
  const auto end = std::to_chars(text.begin(), text.end(), seconds, std::chars_format::fixed, 3);
  return std::string(text.data(), end.ptr) + " s";
}

std::string Nothing() { return {}; }

}  // namespace

template <class Rest>
void LogObserver::Log(LogLevel level, const char* what, const LockEvent& event,
                      const Rest& rest) const {
  if (level < least_) return;
  std::string line = "doclock: ";
  line += what;
  line += ": '";
  line += event.key.ToString();
  line += "' of '";
  line += Plain(event.collection);
  line += '\'';
  line += rest();
  sink_(level, line);
}

LogObserver::LogObserver(Sink sink, LogLevel least) : sink_(std::move(sink)), least_(least) {
  if (!sink_) throw std::invalid_argument("LogObserver: the sink is empty");
}

LogObserver::~LogObserver() = default;

void LogObserver::OnGranted(const LockEvent& event, std::chrono::nanoseconds waited,
                            bool handed_over) {
  Log(LogLevel::kDebug, "granted", event, [&] {
    return " after " + TimeText(waited) + (handed_over ? ", handed over in this process" : "");
  });
}

void LogObserver::OnBusy(const LockEvent& event, Errc code, const LockHolder& holder) {
  const char* what = "busy";
  if (code == Errc::kTimedOut) what = "waited in vain";
  if (code == Errc::kCancelled) what = "wait cancelled";
  const LogLevel level = code == Errc::kTimedOut ? LogLevel::kInfo : LogLevel::kDebug;
  Log(level, what, event, [&] { return ", held by " + Plain(holder.ToString()); });
}

void LogObserver::OnRenewed(const LockEvent& event) {
  Log(LogLevel::kDebug, "renewed", event, Nothing);
}

void LogObserver::OnRenewalFailing(const LockEvent& event, std::chrono::nanoseconds remaining) {
  Log(LogLevel::kWarning, "cannot be renewed yet", event,
      [&] { return ", lost in " + TimeText(remaining); });
}

void LogObserver::OnLost(const LockEvent& event) { Log(LogLevel::kError, "lost", event, Nothing); }

void LogObserver::OnReleased(const LockEvent& event, std::chrono::nanoseconds held) {
  Log(LogLevel::kDebug, "released", event, [&] { return " after " + TimeText(held); });
}

void LogObserver::OnDiscarded(const LockEvent& event, std::chrono::nanoseconds held) {
  Log(LogLevel::kInfo, "discarded, its changes not written", event,
      [&] { return " after " + TimeText(held); });
}

void LogObserver::OnMissed(std::uint64_t calls) {
  if (LogLevel::kWarning < least_) return;
  sink_(LogLevel::kWarning,
        "doclock: " + std::to_string(calls) + " events were left out: the log is too slow");
}

void LogObserver::OnInDoubt(const LockEvent& event) {
  Log(LogLevel::kError, "in doubt whether it was written", event, Nothing);
}

}  // namespace doclock
