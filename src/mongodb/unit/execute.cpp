#include "mongodb/unit/execute.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "mongodb/layouts/layout.h"
#include "mongodb/unit/batch.h"
#include "mongodb/unit/operations.h"

namespace doclock::mongodb {
namespace {

using std::chrono::milliseconds;

/// Renewals in one command.
constexpr std::size_t kMaxRenewals = 1000;

/// Renewals of one length of lease and one mode, or of another library's locks. They have
/// connections of their own, and no more time than lets the next renewal come early enough.
void Renew(Server& server, std::span<RenewOp* const> ops, milliseconds budget) {
  const auto ttl_of = [](const RenewOp* op) { return op->request.ttl; };
  const milliseconds ttl = ttl_of(*std::ranges::min_element(ops, {}, ttl_of));
  Pool& pool = server.For(Purpose::kRenewals, std::min(ttl / 10, budget));
  for (std::size_t i = 0; i < ops.size(); i += kMaxRenewals) {
    const Deadline deadline = std::chrono::steady_clock::now() + std::min(budget, ttl / 6);
    Operations operations(server, pool, deadline);
    operations.Renew(ops.subspan(i, std::min(kMaxRenewals, ops.size() - i)));
  }
}

}  // namespace

bool FailIfTooShort(StoreOp& op, const ClockWatch& clocks) {
  if (op.kind != OpKind::kAcquire) return false;
  const milliseconds ttl = static_cast<const AcquireOp&>(op).request.grant.ttl;
  if (clocks.margin() < ttl) return false;
  op.Fail(Errc::kUnavailable,
          clocks.skew().Text() + ", and a holder gives up its lease that much early: one of " +
              std::to_string(ttl.count()) +
              " ms would be over at once; synchronise the servers' clocks, for example by NTP");
  return true;
}

void RunPlain(Server& server, const ClockWatch& clocks, std::span<const rules::PlainOp> ops,
              bool alone, milliseconds budget) {
  std::map<std::tuple<Collection*, milliseconds, LockMode>, std::vector<RenewOp*>> renewals;
  std::map<Collection*, std::vector<rules::PlainOp>> others;
  for (const rules::PlainOp& plain : ops) {
    StoreOp& op = *plain.op;
    if (FailIfTooShort(op, clocks)) continue;
    if (LayoutOf(*op.collection) != nullptr && !NeedsNoLook(plain.kind)) continue;
    if (op.kind == OpKind::kRenew) {
      auto& renewal = static_cast<RenewOp&>(op);
      const auto [ttl, mode] = std::pair(renewal.request.ttl, renewal.request.mode);
      // Another library's have a statement each.
      const bool is_theirs = LayoutOf(*op.collection) != nullptr;
      auto& some = is_theirs ? renewals[{op.collection, milliseconds(0), LockMode::kExclusive}]
                             : renewals[{op.collection, ttl, mode}];
      some.push_back(&renewal);
    } else {
      others[op.collection].push_back(plain);
    }
  }
  for (const auto& [where, some] : renewals) Renew(server, some, budget);
  if (others.empty()) return;
  Operations operations(server, budget);
  for (const auto& [collection, some] : others) Batch(operations, alone).Run(some);
}

}  // namespace doclock::mongodb
