#include "plain/play.h"

#include <algorithm>
#include <cstdlib>

#include "plain/decide.h"
#include "rules/looking.h"
#include "rules/tidying.h"

namespace doclock::plain_test {
namespace {

using namespace std::chrono_literals;

/// Documents that are put there and looked at together.
constexpr std::size_t kTogether = 100;

std::uint64_t Number(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Among others a statement's outcome is told by the document: not of one that is gone, or whose
/// incarnation the caller does not know.
bool MayBeInDoubt(const StoreOp& op) {
  if (op.status != OpStatus::kInDoubt) return false;
  if (op.kind == OpKind::kWrite) {
    const auto& write = static_cast<const WriteOp&>(op);
    return write.request.write == WriteKind::kErase || write.request.born.is_nil();
  }
  if (op.kind != OpKind::kSave) return false;
  const auto& save = static_cast<const SaveOp&>(op);
  return save.request.save == SaveKind::kErase || save.request.born.is_nil();
}

std::optional<Record> Of(const Case& one, const Records& stored) {
  const auto found = stored.find(one.key.ToString());
  return found == stored.end() ? std::nullopt : std::optional(found->second);
}

std::string Told(const Case& one) {
  return "DOCLOCK_RULES_SEED=" + std::to_string(one.seed) + " before: " + TextOf(one.before);
}

/// Compares a document with what the rules have made of it.
void Compare(const Case& one, std::optional<Record> stored, const std::optional<Record>& decided) {
  if (stored && decided && decided->lock.IsShared() && one.before &&
      decided->lock.shares.size() < one.before->lock.shares.size()) {
    // Whether a share that was not the last leaves its mark is the store's own choice.
    stored->lock.released = decided->lock.released;
  }
  EXPECT_EQ(TextOf(stored), TextOf(decided)) << Told(one);
}

/// A search leaves no entry, and has an id of its own.
void DoNotWait(AcquireOp& op) {
  if (op.request.grant.queue_for.count() == 0) return;
  op.request.grant.queue_for = {};
  op.request.grant.lock_id = NewUuid();
}

std::string RowText(const LockRow& row) {
  std::string text = TextOf(row.lock_id) + " v" + std::to_string(row.version);
  text += (row.live ? " live" : " over") + std::string(row.closed ? " closed" : "");
  text += row.has_body ? " with a body" : "";
  text += row.mode == LockMode::kShared ? " share" : "";
  text += " at " + std::to_string(row.fence.value_or(-1));
  text += ", born " + TextOf(row.born) + ", of " + row.holder.name + " in " + row.group + ", for" +
          TextOf(row.ttl) + ", left" + TextOf(row.left) + ", since" + TextOf(row.age);
  text += ", " + std::to_string(row.waiting) + " wait, next " + row.next.name;
  return text + (row.malformed ? ", malformed" : "");
}

using Rows = std::map<std::string, std::vector<std::string>>;

Rows Sorted(const std::vector<LockRow>& rows) {
  Rows sorted;
  for (const LockRow& row : rows) sorted[row.key.ToString()].push_back(RowText(row));
  for (auto& [key, texts] : sorted) std::sort(texts.begin(), texts.end());
  return sorted;
}

}  // namespace

void StoreAgainstRules::Play(std::span<StoreOp* const> ops) { store_->Execute(ops, 10s); }

void StoreAgainstRules::ForEachBatch(double share, const std::function<void(const Cases&)>& play) {
  const std::uint64_t first = Number("DOCLOCK_RULES_SEED", 1);
  const double all = share * static_cast<double>(Number("DOCLOCK_RULES_CASES", 500));
  const std::uint64_t count = std::max<std::uint64_t>(static_cast<std::uint64_t>(all), 1);
  for (std::uint64_t done = 0; done < count && !HasFailure(); done += kTogether) {
    Cases cases;
    for (std::uint64_t i = done; i < std::min(count, done + kTogether); ++i) {
      cases.emplace_back(first + i);
    }
    Put(cases);
    play(cases);
  }
}

/// Both of the store's ways: several operations in one command, and each in its own.
void StoreAgainstRules::ExpectDecided(const Cases& cases, const Make& make) {
  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<StoreOp*> ops;
  for (const Case& one : cases) {
    operations.push_back(make(one, *things_));
    ops.push_back(&operations.back()->op());
  }
  std::vector<StoreOp*> together;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (cases[i].alone) {
      Play({&ops[i], 1});
    } else {
      together.push_back(ops[i]);
    }
  }
  Play(together);
  const auto stored = Stored(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto expected = make(cases[i], *things_);
    std::optional<Record> decided = cases[i].before;
    plain_test::Decide(expected->op(), decided);
    SCOPED_TRACE(RequestOf(*ops[i]) + (cases[i].alone ? "" : " (among others)"));
    if (!cases[i].alone && MayBeInDoubt(*ops[i])) {
      if (TextOf(Of(cases[i], stored)) == TextOf(cases[i].before)) decided = cases[i].before;
    } else {
      EXPECT_EQ(ResultOf(*ops[i]), ResultOf(expected->op())) << Told(cases[i]);
    }
    Compare(cases[i], Of(cases[i], stored), decided);
  }
}

void StoreAgainstRules::DecideOperations(int times) {
  ForEachBatch(times, [&](const Cases& cases) { ExpectDecided(cases, OperationOf); });
}

void StoreAgainstRules::DecideInterventions() {
  ForEachBatch(0.2, [&](const Cases& cases) { ExpectDecided(cases, InterventionOf); });
}

void StoreAgainstRules::DecideTheNextFree() {
  ForEachBatch(0.2, [&](const Cases& cases) {
    std::vector<std::unique_ptr<Operation>> operations;
    for (const Case& one : cases) {
      operations.push_back(AcquireOf(one, *things_));
      auto& op = static_cast<AcquireOp&>(operations.back()->op());
      op.request.insert = {};
      DoNotWait(op);
      Key key("none");
      const auto number = static_cast<std::int64_t>(one.seed % 1'000'000'000);
      store_->AcquireNext(Filter{}.Equal("case", number), op, key, 10s);
      op.key = &one.key;
    }
    const auto stored = Stored(cases);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const auto expected = AcquireOf(cases[i], *things_);
      auto& op = static_cast<AcquireOp&>(expected->op());
      op.request.insert = {};
      DoNotWait(op);
      std::optional<Record> decided = cases[i].before;
      std::optional<Record> none;
      const bool meets = decided && decided->body.contains("case");
      plain_test::Decide(op, meets ? decided : none);
      if (op.status == OpStatus::kBusy) {
        op.status = OpStatus::kMissing;
        op.detail.reset();
        decided = cases[i].before;  // it passes no lock on
      }
      SCOPED_TRACE(RequestOf(op));
      EXPECT_EQ(ResultOf(operations[i]->op()), ResultOf(op)) << Told(cases[i]);
      Compare(cases[i], Of(cases[i], stored), decided);
    }
  });
}

void StoreAgainstRules::DecideWhatAPurgeClears() {
  ForEachBatch(0.2, [&](const Cases& cases) {
    const std::int64_t purged = store_->Purge(*things_, 1'000'000, 10s);
    const auto stored = Stored(cases);
    std::int64_t expected = 0;
    for (const Case& one : cases) {
      std::optional<Record> decided = one.before;
      if (decided && rules::IsPurgeable(decided->lock, kNow)) {
        rules::Purge(decided->lock);
        ++expected;
      }
      Compare(one, Of(one, stored), decided);
    }
    EXPECT_EQ(purged, expected);
  });
}

void StoreAgainstRules::DecideWhatAListShows() {
  ForEachBatch(0.2, [&](const Cases& cases) {
    for (const char* const group : {"", "red"}) {
      for (const bool unheld : {false, true}) {
        LockQuery query;
        query.group = group;
        query.unheld = unheld;
        Rows shown = Sorted(store_->ListLocks(*things_, query, "", 10s).rows);
        for (const Case& one : cases) {
          std::vector<LockRow> rows;
          LockRow row;
          row.key = one.key;
          row.has_body = one.before && !one.before->body.empty();
          if (one.before) rules::AddRows(rows, row, one.before->lock, query, kNow);
          const std::string key = one.key.ToString();
          EXPECT_EQ(shown[key], Sorted(rows)[key]) << Told(one) << " group " << group << unheld;
        }
      }
    }
  });
}

}  // namespace doclock::plain_test
