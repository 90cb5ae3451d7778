#include "rules/states.h"

#include <algorithm>
#include <iterator>

namespace doclock::rules::testing {
namespace {

using std::chrono::seconds;

constexpr TimePoint kEnds[] = {kNow - seconds(1), kNow, kNow + seconds(5)};

Lease EndingAt(TimePoint end) { return {end - kTtl, kTtl}; }

void SetShares(LockState& state, const std::vector<TimePoint>& ends) {
  state.lock_id = kSharedLockId;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    state.shares.push_back({kShares[i], ends[i] - kTtl, EndingAt(ends[i]), nullptr, "", kVersion});
  }
  const Share& last = *std::max_element(
      state.shares.begin(), state.shares.end(),
      [](const Share& a, const Share& b) { return a.lease.End() < b.lease.End(); });
  state.lease = last.lease;
  state.granted = last.granted;
}

std::vector<LockState> Holdings() {
  LockState fresh;
  fresh.version = kVersion;
  fresh.born = kBorn;
  fresh.released = kMark;
  std::vector<LockState> all = {fresh};
  for (const TimePoint end : kEnds) {
    all.push_back(fresh);
    all.back().lock_id = kHolder;
    all.back().lease = EndingAt(end);
    all.back().granted = end - kTtl;
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
  std::vector<Intent> intents = {Intent{}};
  for (const Uuid& writer : {kWriter, kOtherWriter}) {
    for (const TimePoint end : kEnds) intents.push_back({writer, end});
  }
  for (const LockState& holding : Holdings()) {
    for (const TimePoint closing : closings) {
      for (const Intent& intent : intents) {
        LockState state = holding;
        state.closed_until = closing;
        state.intent = intent;
        visit(state);
      }
    }
  }
}

std::string FaultOfState(const LockState& state) {
  if (state.IsShared() == state.shares.empty()) return "shares without their id, or the reverse";
  TimePoint last{};
  for (const Share& share : state.shares) last = std::max(last, share.lease.End());
  if (state.IsShared() && last != state.lease.End()) return "the lease does not cover the shares";
  return {};
}

bool Same(const LockState& a, const LockState& b) {
  const auto same_share = [](const Share& x, const Share& y) {
    return x.id == y.id && x.lease.End() == y.lease.End();
  };
  return a.lock_id == b.lock_id && a.closed_until == b.closed_until && a.born == b.born &&
         (!a.HasLockId() || a.lease.End() == b.lease.End()) && a.intent.id == b.intent.id &&
         a.intent.until == b.intent.until &&
         std::equal(a.shares.begin(), a.shares.end(), b.shares.begin(), b.shares.end(), same_share);
}

std::string TextOf(const LockState& state) {
  std::string text = state.HasLockId() ? Left(state.lease.End(), "held, ends in ") : "free";
  for (const Share& share : state.shares) text += Left(share.lease.End(), "; share ");
  if (state.closed_until != TimePoint{}) text += Left(state.closed_until, "; closed for ");
  if (!state.intent.id.is_nil()) {
    text += Left(state.intent.until, state.intent.id == kWriter ? "; writer " : "; other writer ");
  }
  return text;
}

}  // namespace doclock::rules::testing
