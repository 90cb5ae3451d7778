#include "rules/states.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "rules/rules.h"

namespace doclock::rules::testing {
namespace {

using std::chrono::seconds;

constexpr TimePoint kEnds[] = {kNow - seconds(1), kNow, kNow + seconds(5)};

/// Of the entries in a queue. A share that was over before was over just now too.
constexpr std::pair<TimePoint, LockMode> kWaits[] = {{kNow - seconds(1), LockMode::kExclusive},
                                                     {kNow, LockMode::kExclusive},
                                                     {kNow, LockMode::kShared},
                                                     {kNow + seconds(5), LockMode::kExclusive},
                                                     {kNow + seconds(5), LockMode::kShared}};

/// The lease was renewed a second after the grant.
constexpr seconds kRenewed(1);

Lease EndingAt(TimePoint end) { return {end - kTtl, kTtl}; }

OwnerPtr OwnerCalled(const std::string& name) {
  LockHolder holder;
  holder.name = name;
  return std::make_shared<const LockHolder>(std::move(holder));
}

void SetShares(LockState& state, const std::vector<TimePoint>& ends) {
  state.lock_id = kSharedLockId;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    static const OwnerPtr kOwners[] = {OwnerCalled("first"), nullptr, OwnerCalled("third")};
    state.shares.push_back({kShares[i], ends[i] - kTtl - kRenewed, EndingAt(ends[i]), kOwners[i],
                            i == 0 ? "red" : "", kVersion - static_cast<int>(i)});
  }
  const Share& last = *std::max_element(
      state.shares.begin(), state.shares.end(),
      [](const Share& a, const Share& b) { return a.lease.End() < b.lease.End(); });
  state.lease = last.lease;
  state.granted = last.granted;
  state.owner = last.owner;
}

std::vector<LockState> Holdings() {
  static const OwnerPtr kOwner = OwnerCalled("holder");
  LockState fresh;
  fresh.version = kVersion;
  fresh.born = kBorn;
  fresh.released = kMark;
  std::vector<LockState> all = {fresh};
  for (const TimePoint end : kEnds) {
    all.push_back(fresh);
    all.back().lock_id = kHolder;
    all.back().lease = EndingAt(end);
    all.back().granted = end - kTtl - kRenewed;
    all.back().fence = kVersion - 1;
    all.back().owner = kOwner;
    all.back().group = "red";
    // Released: the lease is still told of, and counts for nothing.
    all.push_back(all.back());
    all.back().lock_id = Uuid{};
  }
  std::vector<std::vector<TimePoint>> ends = {{}};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (!ends[i].empty()) {
      all.push_back(fresh);
      SetShares(all.back(), ends[i]);
    }
    if (ends[i].size() == std::size(kShares)) continue;
    for (const TimePoint end : kEnds) {
      std::vector<TimePoint> more = ends[i];
      more.push_back(end);
      ends.push_back(std::move(more));
    }
  }
  return all;
}

std::string Left(TimePoint end, const std::string& what) {
  return what + std::to_string((end - kNow) / std::chrono::milliseconds(1)) + " ms";
}

}  // namespace

Uuid IdOf(int number) {
  Uuid id{};
  id.data[15] = static_cast<std::uint8_t>(number);
  return id;
}

void ForEachState(const std::function<void(const LockState&)>& visit) {
  std::vector<TimePoint> closings(std::begin(kEnds), std::end(kEnds));
  closings.push_back(TimePoint{});
  closings.push_back(kNow + seconds(60));
  for (const LockState& holding : Holdings()) {
    for (const TimePoint closing : closings) {
      LockState state = holding;
      state.closed_until = closing;
      visit(state);
    }
  }
}

void ForEachQueuedState(const std::function<void(const LockState&)>& visit) {
  static const OwnerPtr kOwner = OwnerCalled("waiter");
  std::vector<std::vector<QueueEntry>> queues = {{}};
  for (std::size_t i = 0; i < queues.size(); ++i) {
    const std::size_t length = queues[i].size();
    if (length == std::size(kEntries)) continue;
    for (const auto& [end, mode] : kWaits) {
      if (length == 2 && end <= kNow) continue;  // as if it were not there
      QueueEntry entry{.id = kEntries[length],
                       .until = end,
                       .ttl = seconds(length == 1 ? 2 : 20),
                       .min_hold = seconds(length == 2 ? 3 : 0),
                       .owner = kOwner,
                       .group = length == 0 ? "green" : "",
                       .detached = length == 1,
                       .mode = mode,
                       .max_holders = 2,
                       .instance = static_cast<std::int64_t>(length) + 1};
      std::vector<QueueEntry> longer = queues[i];
      longer.push_back(std::move(entry));
      queues.push_back(std::move(longer));
    }
  }
  ForEachState([&](const LockState& state) {
    for (const auto& queue : queues) {
      LockState queued = state;
      queued.queue = queue;
      visit(queued);
    }
  });
}

std::string FaultOfState(const LockState& state) {
  if (std::any_of(state.queue.begin(), state.queue.end(),
                  [&](const QueueEntry& entry) { return entry.id == state.lock_id; })) {
    return "the holder waits too";
  }
  for (const Share& share : state.shares) {
    if (share.lease.IsLive(kNow) && HasEntry(state, share.id)) return "a share's holder waits too";
  }
  if (state.IsShared() == state.shares.empty()) return "shares without their id, or the reverse";
  if (!state.IsShared()) return {};
  TimePoint last = TimePoint::min();
  for (const Share& share : state.shares) last = std::max(last, share.lease.End());
  const bool covers =
      std::any_of(state.shares.begin(), state.shares.end(), [&](const Share& share) {
        return share.lease.End() == last && Same(share.lease, state.lease) &&
               share.granted == state.granted && share.owner == state.owner;
      });
  return covers ? "" : "the lease is not that of the share which ends last";
}

bool Same(const Lease& a, const Lease& b) { return a.since == b.since && a.ttl == b.ttl; }

bool Same(const LockState& a, const LockState& b) {
  const auto same_share = [](const Share& x, const Share& y) {
    return x.id == y.id && x.granted == y.granted && Same(x.lease, y.lease) && x.owner == y.owner &&
           x.group == y.group && x.fence == y.fence;
  };
  const auto same_entry = [](const QueueEntry& x, const QueueEntry& y) {
    return x.id == y.id && x.until == y.until && x.ttl == y.ttl && x.min_hold == y.min_hold &&
           x.owner == y.owner && x.group == y.group && x.detached == y.detached &&
           x.mode == y.mode && x.max_holders == y.max_holders && x.instance == y.instance;
  };
  return std::equal(a.queue.begin(), a.queue.end(), b.queue.begin(), b.queue.end(), same_entry) &&
         a.lock_id == b.lock_id && a.version == b.version && Same(a.lease, b.lease) &&
         a.granted == b.granted && a.fence == b.fence && a.closed_until == b.closed_until &&
         a.owner == b.owner && a.group == b.group && a.born == b.born && a.released == b.released &&
         std::equal(a.shares.begin(), a.shares.end(), b.shares.begin(), b.shares.end(), same_share);
}

std::string TextOf(const LockState& state) {
  std::string text = state.HasLockId() ? Left(state.lease.End(), "held, ends in ") : "free";
  for (const Share& share : state.shares) text += Left(share.lease.End(), "; share ");
  if (state.closed_until != TimePoint{}) text += Left(state.closed_until, "; closed for ");
  for (const QueueEntry& entry : state.queue) {
    text += Left(entry.until, entry.mode == LockMode::kShared ? "; sharer " : "; waiter ");
  }
  return text;
}

}  // namespace doclock::rules::testing
