#include "engine/check_options.h"

#include <stdexcept>
#include <string>

#include "document/values/utf8.h"

namespace doclock::detail {
namespace {

constexpr std::size_t kMaxTextBytes = 256;

void Require(bool holds, const char* field, const char* rule) {
  if (!holds) throw std::invalid_argument(std::string(field) + " must be " + rule);
}

constexpr Duration Ms(std::int64_t n) { return std::chrono::milliseconds(n); }

}  // namespace

void CheckText(std::string_view text, const char* field) {
  Require(text.size() <= kMaxTextBytes, field, "at most 256 bytes long");
  Require(IsUtf8(text), field, "valid UTF-8");
}

void CheckManagerOptions(const Store* store, const ManagerOptions& options) {
  Require(store != nullptr, "LockManager: store", "a store, not null");
  CheckText(options.owner, "ManagerOptions::owner");
  Require(options.call_budget >= Ms(10) && options.call_budget <= Ms(600'000),
          "ManagerOptions::call_budget", "10 ms to 10 minutes");
  Require(options.poll_min >= Ms(1), "ManagerOptions::poll_min", "at least 1 ms");
  Require(options.poll_max >= options.poll_min && options.poll_max <= Ms(3'600'000),
          "ManagerOptions::poll_max", "at least poll_min and at most one hour");
  Require(options.drain_timeout >= Ms(0) && options.drain_timeout <= Ms(60'000),
          "ManagerOptions::drain_timeout", "0 to one minute");
  Require(options.max_handovers >= 1 && options.max_handovers <= 1000,
          "ManagerOptions::max_handovers", "1 to 1000");
}

void CheckLockOptions(const LockOptions& options) {
  if (options.ttl != kRepositoryTtl) CheckTtl(options.ttl, "LockOptions::ttl");
  Require(options.wait >= Duration(), "LockOptions::wait", "zero or more");
  Require(options.min_hold >= Duration() && options.min_hold <= kMaxTtl, "LockOptions::min_hold",
          "0 to 24 hours");
  Require(options.max_holders >= 1 && options.max_holders <= kMaxHolders,
          "LockOptions::max_holders", "1 to 1000");
  Require(options.mode == LockMode::kExclusive || options.mode == LockMode::kShared,
          "LockOptions::mode", "kExclusive or kShared");
  Require(options.mode == LockMode::kShared || options.max_holders == kMaxHolders,
          "LockOptions::max_holders", "left alone for an exclusive lock");
  Require(options.mode == LockMode::kExclusive || options.min_hold == Duration(),
          "LockOptions::min_hold", "zero for a shared lock");
  const Duration hold = options.hold_while_waiting;
  Require(hold == kForever || (hold >= Ms(1) && hold <= kMaxTtl), "LockOptions::hold_while_waiting",
          "1 ms to 24 hours, or kForever");
  CheckText(options.owner, "LockOptions::owner");
  CheckText(options.group, "LockOptions::group");
}

void CheckTtl(Duration ttl, const char* field) {
  Require(ttl >= kMinTtl && ttl <= kMaxTtl, field, "100 ms to 24 hours");
}

}  // namespace doclock::detail
