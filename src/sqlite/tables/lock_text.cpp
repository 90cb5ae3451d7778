#include "sqlite/tables/lock_text.h"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <system_error>

#include "doclock/store/store.h"

namespace doclock::sqlite {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

class Composer {
 public:
  Composer& Number(std::int64_t number) {
    char digits[20];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr) += ' ';
    return *this;
  }
  Composer& Time(TimePoint time) { return Number(time.time_since_epoch().count()); }
  Composer& Id(const Uuid& id) {
    for (const std::uint8_t byte : id) (text_ += kDigits[byte >> 4]) += kDigits[byte & 15];
    text_ += ' ';
    return *this;
  }
  Composer& Text(std::string_view text) {
    Number(static_cast<std::int64_t>(text.size())).text_.back() = ':';
    (text_ += text) += ' ';
    return *this;
  }
  /// Nothing of none.
  Composer& Owner(const OwnerPtr& owner) {
    if (!owner) return Number(0);
    return Number(1).Number(owner->pid).Text(owner->host).Text(owner->name);
  }
  void EndLine() { text_.back() = '\n'; }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

/// After a mistake it reads zeros, up to the end.
class Parser {
 public:
  explicit Parser(std::string_view text) noexcept : rest_(text) {}

  std::int64_t Number(std::int64_t lowest, std::int64_t highest, char end = ' ') noexcept {
    std::int64_t number = 0;
    const auto [last, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    const bool good = error == std::errc() && number >= lowest && number <= highest;
    rest_.remove_prefix(static_cast<std::size_t>(last - rest_.data()));
    Skip(end, good);
    return good_ ? number : 0;
  }
  TimePoint Time() noexcept { return TimePoint(TimePoint::duration(Number(-kLatest, kLatest))); }
  std::chrono::milliseconds Length() noexcept {
    return std::chrono::milliseconds(Number(0, rules::kLongestLease.count()));
  }
  Uuid Id() noexcept {
    Uuid id{};
    bool good = rest_.size() >= 2 * id.size();
    for (std::size_t i = 0; good && i < 2 * id.size(); ++i) {
      const std::size_t digit = kDigits.find(rest_[i]);
      good = digit != std::string_view::npos;
      if (good) *(id.begin() + i / 2) |= static_cast<std::uint8_t>(digit << (i % 2 == 0 ? 4 : 0));
    }
    if (good) rest_.remove_prefix(2 * id.size());
    Skip(' ', good && !id.is_nil() && id != kSharedLockId);
    return id;
  }
  std::string_view Text() noexcept {
    const auto size = static_cast<std::size_t>(Number(0, INT32_MAX, ':'));
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(text.size());
    Skip(' ', text.size() == size);
    return text;
  }
  OwnerPtr Owner() {
    if (Number(0, 1) == 0) return nullptr;
    LockHolder owner;
    owner.pid = Number(INT64_MIN, INT64_MAX);
    owner.host = Text();
    owner.name = Text();
    return std::make_shared<const LockHolder>(std::move(owner));
  }
  [[nodiscard]] bool good() const noexcept { return good_; }
  [[nodiscard]] bool done() const noexcept { return !good_ || rest_.empty(); }

 private:
  /// The last space of a line is its end.
  void Skip(char end, bool good) noexcept {
    good_ = good_ && good && !rest_.empty() &&
            (rest_.front() == end || (end == ' ' && rest_.front() == '\n'));
    if (good_) rest_.remove_prefix(1);
  }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::string OwnerText(const OwnerPtr& owner) { return owner ? Composer().Owner(owner).Take() : ""; }

std::string SharesText(const std::vector<rules::Share>& shares) {
  Composer to;
  for (const rules::Share& share : shares) {
    to.Id(share.id).Time(share.granted).Time(share.lease.since).Number(share.lease.ttl.count());
    to.Number(share.lease.instance).Number(share.fence).Owner(share.owner).Text(share.group);
    to.EndLine();
  }
  return to.Take();
}

std::string QueueText(const std::vector<rules::QueueEntry>& queue) {
  Composer to;
  for (const rules::QueueEntry& entry : queue) {
    to.Id(entry.id).Time(entry.until).Number(entry.ttl.count()).Number(entry.min_hold.count());
    to.Number(entry.detached ? 1 : 0).Number(entry.instance);
    to.Number(entry.mode == LockMode::kShared ? entry.max_holders : 0);
    to.Owner(entry.owner).Text(entry.group).EndLine();
  }
  return to.Take();
}

bool ReadOwner(std::string_view text, OwnerPtr& owner) {
  Parser from(text);
  owner = from.Owner();
  return from.good() && from.done();
}

bool ReadShares(std::string_view text, std::vector<rules::Share>& shares) {
  Parser from(text);
  while (!from.done()) {
    rules::Share& share = shares.emplace_back();
    share.id = from.Id();
    share.granted = from.Time();
    share.lease.since = from.Time();
    share.lease.ttl = from.Length();
    share.lease.instance = from.Number(0, INT64_MAX);
    share.fence = from.Number(0, rules::kHighestVersion);
    share.owner = from.Owner();
    share.group = from.Text();
  }
  return from.good();
}

bool ReadQueue(std::string_view text, std::vector<rules::QueueEntry>& queue) {
  Parser from(text);
  while (!from.done()) {
    rules::QueueEntry& entry = queue.emplace_back();
    entry.id = from.Id();
    entry.until = from.Time();
    entry.ttl = from.Length();
    entry.min_hold = from.Length();
    entry.detached = from.Number(0, 1) == 1;
    entry.instance = from.Number(0, INT64_MAX);
    const auto limit = static_cast<int>(from.Number(0, kMaxHolders));
    if (limit > 0) {
      entry.mode = LockMode::kShared;
      entry.max_holders = limit;
    }
    entry.owner = from.Owner();
    entry.group = from.Text();
  }
  return from.good();
}

}  // namespace doclock::sqlite
