#include <algorithm>
#include <stdexcept>
#include <utility>

#include "doclock/lock_admin.h"
#include "engine/check_options.h"
#include "engine/engine.h"
#include "engine/failure.h"
#include "named/status.h"

namespace doclock {

GroupException::GroupException(const std::string& what, std::vector<LockStatus> done,
                               std::vector<Failed> failed)
    : Error(failed.front().code, what), done_(std::move(done)), failed_(std::move(failed)) {}

GroupException::~GroupException() = default;

namespace {

/// Renewals per call of the store.
constexpr std::size_t kRenewalsAtOnce = 500;

struct Member {
  Uuid lock_id;
  LockStatus lock;
};

/// The group's live locks, newest first.
std::vector<Member> MembersOf(const detail::Binding& binding, std::string_view group) {
  if (group.empty()) throw std::invalid_argument("doclock: the group's name must not be empty");
  LockQuery query;
  query.group = group;
  const auto now = std::chrono::system_clock::now();
  std::vector<Member> members;
  detail::ListLocks(binding.engine, *binding.collection, query, [&](LockRow&& row) {
    if (row.live && !row.malformed) members.push_back({row.lock_id, named::StatusOf(row, now)});
  });
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::pair(a.lock.age, b.lock.key) < std::pair(b.lock.age, a.lock.key);
  });
  return members;
}

/// The outcomes for the members of a group.
class Outcome {
 public:
  void Done(LockStatus lock) { done_.push_back(std::move(lock)); }
  void Failed(LockStatus lock, Errc code) { failed_.push_back({std::move(lock), code}); }

  std::vector<LockStatus> Finish(std::string_view group, const char* verb) {
    if (failed_.empty()) return std::move(done_);
    std::string what = "doclock: " + std::to_string(failed_.size()) + " of " +
                       std::to_string(failed_.size() + done_.size()) + " locks of the group '" +
                       std::string(group) + "' could not be " + verb + ":";
    for (const auto& one : failed_) what += " '" + one.lock.name + "'";
    throw GroupException(what, std::move(done_), std::move(failed_));
  }

 private:
  std::vector<LockStatus> done_;
  std::vector<GroupException::Failed> failed_;
};

void RenewSome(const detail::Binding& binding, std::span<Member> members, Duration ttl,
               Outcome& outcome) {
  std::vector<RenewOp> renewals;
  renewals.reserve(members.size());
  std::vector<StoreOp*> ops;
  for (const Member& member : members) {
    RenewOp& op = renewals.emplace_back(*binding.collection, member.lock.key);
    op.request.lock_id = member.lock_id;
    op.request.mode = member.lock.mode;
    op.request.ttl = ttl == Duration() ? member.lock.ttl : ttl.ms();
    op.request.keep_process = true;
    ops.push_back(&op);
  }
  // Not through the batcher, like all operations on many documents at once.
  binding.engine->store().Execute(ops, binding.engine->options().call_budget.ms());
  for (std::size_t i = 0; i < members.size(); ++i) {
    LockStatus& lock = members[i].lock;
    const OpStatus status = renewals[i].status;
    if (status == OpStatus::kDone) {
      named::NoteRenewed(lock, renewals[i].request.ttl);
      outcome.Done(std::move(lock));
    } else if (status != OpStatus::kLost && status != OpStatus::kMissing) {
      outcome.Failed(std::move(lock), detail::FailureOf(renewals[i])->code);
    }
  }
}

}  // namespace

std::vector<LockStatus> LockAdmin::RenewGroup(std::string_view group, Duration ttl) const {
  if (ttl != Duration()) detail::CheckTtl(ttl, "LockAdmin::RenewGroup: ttl");
  auto members = MembersOf(bound(), group);
  Outcome outcome;
  const std::span<Member> all(members);
  for (std::size_t i = 0; i < all.size(); i += kRenewalsAtOnce) {
    RenewSome(bound(), all.subspan(i, std::min(kRenewalsAtOnce, all.size() - i)), ttl, outcome);
  }
  auto renewed = outcome.Finish(group, "renewed");
  if (renewed.empty()) {
    throw NotFoundException("doclock: the group '" + std::string(group) + "' has no live lock");
  }
  return renewed;
}

std::vector<LockStatus> LockAdmin::ReleaseGroup(std::string_view group) const {
  Outcome outcome;
  for (Member& member : MembersOf(bound(), group)) {
    detail::ValueRelease release;
    release.collection = bound().collection.get();
    release.key = member.lock.key;
    release.lock_id = member.lock_id;
    release.mode = member.lock.mode;
    const auto failure = detail::ReleaseByValue(bound().engine, std::move(release));
    if (!failure) {
      outcome.Done(std::move(member.lock));
    } else if (failure->code != Errc::kNotOwner) {
      outcome.Failed(std::move(member.lock), failure->code);
    }
  }
  return outcome.Finish(group, "released");
}

}  // namespace doclock
