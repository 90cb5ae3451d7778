#include "looker.h"

#include <algorithm>
#include <iterator>

#include "script.h"
#include "stage.h"

namespace doclock::conformance::script {
namespace {

/// The holder, with what the lock says of it if that is something else.
std::string Called(const std::string& name, const LockHolder& holder) {
  if (holder.name == name) return name;
  return name + " (" + (holder.name.empty() ? "unnamed" : holder.name) + ")";
}

}  // namespace

std::string Looker::NameOf(const Uuid& id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? "an unknown id" : found->second;
}

ReadOp Looker::Read(const Key& key) const {
  ReadOp op(collection_, key);
  StoreOp* const ops[] = {&op};
  store_.Execute(ops, kBudget);
  return op;
}

std::vector<LockRow> Looker::Rows(const LockQuery& query) const {
  std::vector<LockRow> rows;
  std::string after;
  do {
    LockPage page = store_.ListLocks(collection_, query, after, kBudget);
    std::move(page.rows.begin(), page.rows.end(), std::back_inserter(rows));
    after = page.next;
  } while (!after.empty());
  return rows;
}

std::string Looker::Holders(const ReadOp& read, const std::vector<LockRow>& rows) const {
  if (read.result.lock_id.is_nil()) return "free";
  if (read.result.lock_id != kSharedLockId) {
    const std::string name = Called(NameOf(read.result.lock_id), read.result.holder);
    if (!read.result.locked) return name + "'s lock is over";
    return "held by " + name + until_(read.result.lock_id, read.result.remaining);
  }
  if (!read.result.locked) return "shares are over";
  Parts shares;
  for (const LockRow& row : rows) {
    if (!row.live) continue;
    shares.push_back(Called(NameOf(row.lock_id), row.holder) + until_(row.lock_id, row.left) +
                     (row.group.empty() ? "" : " in " + row.group));
  }
  std::sort(shares.begin(), shares.end());
  if (shares.size() > 6) return std::to_string(shares.size()) + " share it";
  return "shared by " + Joined(shares);
}

Looker::Parts Looker::Picture(const std::string& text) const {
  const Key key(text);
  const ReadOp read = Read(key);
  if (read.status == OpStatus::kMissing) return {"none"};
  if (read.status != OpStatus::kDone) return {WordOf(DetailOf(read).code)};
  const std::vector<LockRow> rows = Rows({.key = key, .unheld = true});
  Parts parts{"v" + std::to_string(read.result.version), read.result.body.json().dump(),
              Holders(read, rows)};
  if (rows.empty()) return parts.emplace_back("BUT NO LIST SHOWS IT"), parts;
  const LockRow& row = rows.front();
  const bool exclusive = row.mode == LockMode::kExclusive;
  parts.push_back(row.group.empty() || !exclusive ? "" : "in " + row.group);
  parts.emplace_back(row.closed ? "closed" : "");
  const std::string first = row.next.name.empty() ? "" : " (" + row.next.name + " first)";
  const bool shows_queue = row.waiting > 0 && shows_queues_;
  parts.push_back(shows_queue ? std::to_string(row.waiting) + " waiting" + first : "");
  const bool shows_end = !read.result.released.is_nil() && read.result.lock_id != kSharedLockId;
  parts.push_back(shows_end ? "after " + NameOf(read.result.released) : "");
  const auto live = [](const LockRow& one) { return one.live; };
  for (const LockRow& one : rows) {
    if (one.version != read.result.version) {
      parts.push_back("BUT LISTED AS v" + std::to_string(one.version));
    }
    if (one.born != read.result.born) parts.emplace_back("BUT LISTED IN ANOTHER LIFE");
    if (one.fence && *one.fence > read.result.version)
      parts.emplace_back("BUT ITS FENCE IS HIGHER");
  }
  if (exclusive && (rows.size() > 1 || row.lock_id != read.result.lock_id ||
                    (read.result.locked && row.holder.name != read.result.holder.name))) {
    parts.emplace_back("BUT LISTED WITH ANOTHER HOLDER");
  }
  if (std::any_of(rows.begin(), rows.end(), live) != read.result.locked) {
    parts.emplace_back("BUT LISTED AS OTHERWISE LIVE");
  }
  return parts;
}

std::string Looker::Difference(const Parts& before, Parts& now, const std::string& expected) const {
  static constexpr const char* kGone[] = {"", "", "", "in no group", "open", "none waiting", ""};
  Parts changes;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::string snapped = Snapped(now[i], expected, slack_.now());
    const bool fresh = i >= before.size() || before.size() < 2 || now.size() < 2;
    const bool announced = snapped != now[i] && expected.find(snapped) != expected.npos;
    if (!fresh && !announced && Matches(before[i], now[i], slack_.now())) {
      now[i] = before[i];
      continue;
    }
    now[i] = snapped;
    changes.push_back(now[i].empty() && !fresh && i < std::size(kGone) ? kGone[i] : now[i]);
  }
  return Joined(changes);
}

std::string Looker::Changes(const std::string& expected) {
  std::vector<std::pair<std::string, std::string>> changes;
  for (auto& [key, seen] : seen_) {
    Parts now = Picture(key);
    const bool still_missing = seen.empty() && now == Parts{"none"};
    const std::string change = still_missing || seen == now ? "" : Difference(seen, now, expected);
    seen = std::move(now);
    if (!change.empty()) changes.emplace_back(key, change);
  }
  if (changes.size() == 1 && (changes[0].first == last_ || seen_.size() == 1)) {
    return changes[0].second;
  }
  Parts texts;
  for (const auto& [key, change] : changes) texts.push_back(key + ": " + change);
  return Joined(texts, "; ");
}

}  // namespace doclock::conformance::script
