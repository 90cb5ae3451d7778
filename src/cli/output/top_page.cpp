#include "cli/output/top_page.h"

#include <algorithm>
#include <cstdio>
#include <tuple>
#include <utility>

#include "cli/options/durations.h"
#include "cli/output/messages.h"

namespace doclock::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kWaitWidth = 4, kModeWidth = 9, kTimeWidth = 8, kFenceWidth = 8,
                      kRateWidth = 6;
/// The columns besides name and holder, with the blanks behind each.
constexpr std::size_t kFixedWidth =
    kWaitWidth + kModeWidth + 2 * kTimeWidth + kFenceWidth + kRateWidth + 7;
constexpr const char* kKeys = "q quit   s sort   / filter   arrows scroll";

/// The text in exactly so many characters.
std::string Fitted(std::string_view printable, std::size_t width) {
  const std::string_view first = FirstCharacters(printable, width);
  return std::string(first) + std::string(width - WidthOf(first), ' ');
}

std::string RateText(double rate) {
  char text[32];
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.1f", rate))};
}

std::string LeftText(const LockStatus& lock) {
  if (lock.malformed) return "malformed";
  return lock.expired ? "expired" : DurationText(lock.remaining);
}

/// A store without a queue knows of no waiters, so there is no zero to show.
std::string WaitText(const LockStatus& lock) {
  return lock.waiting > 0 ? std::to_string(lock.waiting) : "-";
}

using Cells = std::array<std::string, 8>;

std::string LineOf(const Cells& cells, std::size_t columns) {
  const std::size_t rest = columns > kFixedWidth ? columns - kFixedWidth : 0;
  const std::size_t name = rest * 3 / 5;
  const std::array<std::size_t, 8> widths{name,       rest - name, kWaitWidth,  kModeWidth,
                                          kTimeWidth, kTimeWidth,  kFenceWidth, kRateWidth};
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += Fitted(cells.at(i), widths.at(i));
    if (i + 1 < cells.size()) line += ' ';
  }
  return Fitted(line, columns);
}

}  // namespace

TopPage::TopPage(std::string collection, std::string_view order)
    : collection_(std::move(collection)) {
  const auto* const found = std::find(kTopOrders.begin(), kTopOrders.end(), order);
  order_ = static_cast<std::size_t>(found - kTopOrders.begin()) % kTopOrders.size();
}

void TopPage::Update(std::vector<LockStatus> locks, SteadyClock::time_point now) {
  const std::chrono::duration<double> passed = now - updated_;
  const bool first = updated_ == SteadyClock::time_point();
  std::map<Key, std::int64_t> versions;
  rows_.clear();
  rate_ = 0;
  for (LockStatus& lock : locks) {
    const std::int64_t fence = lock.fence.value_or(lock.version);
    const bool again = versions.contains(lock.key);
    std::int64_t& highest = versions[lock.key];
    highest = std::max(highest, fence);
    const auto before = versions_.find(lock.key);
    // A lock that is new to this page was granted once at least.
    const std::int64_t grants = before == versions_.end() ? 1 : fence - before->second;
    const double rate =
        first || again ? 0
                       : static_cast<double>(std::max<std::int64_t>(grants, 0)) / passed.count();
    rate_ += rate;
    std::string holder = Printable(lock.holder.ToString());
    rows_.push_back({std::move(lock), std::move(holder), rate});
  }
  versions_ = std::move(versions);
  updated_ = now;
  failure_.clear();
}

void TopPage::Scroll(int by) noexcept {
  const auto first = static_cast<std::int64_t>(first_) + by;
  first_ = static_cast<std::size_t>(std::max<std::int64_t>(first, 0));
}

std::vector<const TopPage::Row*> TopPage::Shown() const {
  std::vector<const Row*> shown;
  for (const Row& row : rows_) {
    const bool matches = Printable(row.lock.name).find(filter_) != std::string::npos ||
                         row.holder.find(filter_) != std::string::npos;
    if (matches) shown.push_back(&row);
  }
  const std::string_view order = kTopOrders.at(order_);
  std::stable_sort(shown.begin(), shown.end(), [&](const Row* a, const Row* b) {
    if (order == "age") return a->lock.age > b->lock.age;
    if (order == "holder") return a->holder < b->holder;
    if (order == "left") return a->lock.remaining < b->lock.remaining;
    if (order == "rate") return a->rate > b->rate;
    if (order == "wait") return a->lock.waiting > b->lock.waiting;
    return a->lock.key < b->lock.key;
  });
  return shown;
}

std::string TopPage::Summary() const {
  if (!failure_.empty()) return Printable(failure_);
  const auto expired =
      std::count_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.lock.expired; });
  return std::to_string(rows_.size() - static_cast<std::size_t>(expired)) + " held, " +
         std::to_string(expired) + " expired, " + RateText(rate_) +
         " grants per second seen, sorted by " + std::string(kTopOrders.at(order_)) +
         (filter_.empty() ? "" : ", filter: " + Printable(filter_));
}

std::vector<std::string> TopPage::Lines(std::size_t rows, std::size_t columns) {
  constexpr std::size_t kAround = 4;  // title, summary, head and keys
  std::vector<std::string> lines{
      "doclock top: " + collection_, Summary(),
      LineOf({"NAME", "HOLDER", "WAIT", "MODE", "LEFT", "AGE", "FENCE", "RATE"}, columns)};
  const auto shown = Shown();
  const std::size_t room = rows > kAround ? rows - kAround : 0;
  first_ = std::min(first_, shown.size() > room ? shown.size() - room : 0);
  for (std::size_t i = first_; i < std::min(shown.size(), first_ + room); ++i) {
    const LockStatus& lock = shown[i]->lock;
    lines.push_back(LineOf({Printable(lock.name), shown[i]->holder, WaitText(lock),
                            lock.mode == LockMode::kShared ? "shared" : "exclusive", LeftText(lock),
                            DurationText(lock.age), lock.fence ? std::to_string(*lock.fence) : "?",
                            RateText(shown[i]->rate)},
                           columns));
  }
  lines.resize(std::max<std::size_t>(rows, 1) - 1);
  lines.push_back(kKeys);
  for (std::string& line : lines) line = Fitted(line, columns);
  return lines;
}

}  // namespace doclock::cli
