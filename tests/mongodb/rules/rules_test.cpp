/// The server's decisions are those of src/rules/: random documents, one operation on each, and
/// then what the caller is told and what is stored, both compared. DOCLOCK_RULES_CASES says how
/// many (default 500), DOCLOCK_RULES_SEED the first one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "mongodb/rules/cases.h"
#include "mongodb/rules/decide.h"
#include "mongodb/support/client.h"
#include "mongodb/support/raw_server.h"
#include "rules/looking.h"
#include "rules/tidying.h"

namespace doclock::mongo_test {
namespace {

using mongo_rules_test::Case;
using mongo_rules_test::kNow;
using mongo_rules_test::Operation;
using mongo_rules_test::Record;
using mongo_rules_test::RequestOf;
using mongo_rules_test::ResultOf;
using mongo_rules_test::TextOf;
using mongodb::Array;
using mongodb::Doc;

/// Documents that are put there and looked at together.
constexpr std::size_t kTogether = 100;

std::uint64_t Number(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

using Cases = std::vector<Case>;

/// Among others a statement's outcome is told by the document: not of one that is gone, or whose
/// incarnation the caller does not know.
bool MayBeInDoubt(const StoreOp& op) {
  if (op.status != OpStatus::kInDoubt) return false;
  if (op.kind == OpKind::kWrite) {
    const auto& write = static_cast<const WriteOp&>(op);
    return write.write == WriteKind::kErase || write.born.is_nil();
  }
  if (op.kind != OpKind::kSave) return false;
  const auto& save = static_cast<const SaveOp&>(op);
  return save.save == SaveKind::kErase || save.born.is_nil();
}

class MongoRules : public ::testing::Test {
 protected:
  /// Calls `play` with fresh documents until there were enough of them. `share`: of all cases.
  template <class Play>
  void ForEachBatch(std::uint64_t share, const Play& play) {
    const std::uint64_t first = Number("DOCLOCK_RULES_SEED", 1);
    const std::uint64_t count =
        std::max<std::uint64_t>(Number("DOCLOCK_RULES_CASES", 500) / share, 1);
    for (std::uint64_t done = 0; done < count && !HasFailure(); done += kTogether) {
      Cases cases;
      for (std::uint64_t i = done; i < std::min(count, done + kTogether); ++i) {
        cases.emplace_back(first + i);
      }
      Put(cases);
      play(cases);
    }
  }

  /// What is stored now.
  std::map<std::string, Record> Stored() {
    std::map<std::string, Record> stored;
    Doc command = Doc::Of("find", "things");
    command.Add("batchSize", std::int64_t{1000});
    database_.Run(command, [&](const bson_t& reply) {
      bson_t cursor;
      bson_iter_t batch, at;
      mongodb::FindDocument(reply, "cursor", cursor);
      mongodb::FindField(cursor, "firstBatch", batch);
      bson_iter_recurse(&batch, &at);
      while (bson_iter_next(&at)) {
        bson_t doc;
        bson_iter_t id;
        mongodb::DocumentAt(at, doc);
        mongodb::FindField(doc, "_id", id);
        stored.emplace(bson_iter_utf8(&id, nullptr), mongo_rules_test::RecordOf(doc, server_now_));
      }
    });
    return stored;
  }

  static std::optional<Record> Of(const Case& one, const std::map<std::string, Record>& stored) {
    const auto found = stored.find(one.key.ToString());
    return found == stored.end() ? std::nullopt : std::optional(found->second);
  }

  /// Compares a document with what the rules have made of it.
  static void Compare(const Case& one, std::optional<Record> stored,
                      const std::optional<Record>& decided) {
    if (stored && decided && decided->lock.IsShared() && one.before &&
        decided->lock.shares.size() < one.before->lock.shares.size()) {
      // Whether a share that was not the last leaves its mark is the store's own choice.
      stored->lock.released = decided->lock.released;
    }
    EXPECT_EQ(TextOf(stored), TextOf(decided)) << Told(one);
  }
  static std::string Told(const Case& one) {
    return "DOCLOCK_RULES_SEED=" + std::to_string(one.seed) + " before: " + TextOf(one.before);
  }

  /// Both of the store's ways: several operations in one command, and each in its own.
  template <class Make>
  void ExpectDecided(const Cases& cases, const Make& make) {
    std::vector<std::unique_ptr<Operation>> operations;
    std::vector<StoreOp*> ops;
    for (const Case& one : cases) {
      operations.push_back(make(one, *things_));
      ops.push_back(&operations.back()->op());
    }
    std::vector<StoreOp*> together;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (cases[i].alone) {
        store_->Execute({&ops[i], 1}, 10s);
      } else {
        together.push_back(ops[i]);
      }
    }
    store_->Execute(together, 10s);
    const auto stored = Stored();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const auto expected = make(cases[i], *things_);
      std::optional<Record> decided = cases[i].before;
      mongo_rules_test::Decide(expected->op(), decided);
      SCOPED_TRACE(RequestOf(*ops[i]) + (cases[i].alone ? "" : " (among others)"));
      if (!cases[i].alone && MayBeInDoubt(*ops[i])) {
        if (TextOf(Of(cases[i], stored)) == TextOf(cases[i].before)) decided = cases[i].before;
      } else {
        EXPECT_EQ(ResultOf(*ops[i]), ResultOf(expected->op())) << Told(cases[i]);
      }
      Compare(cases[i], Of(cases[i], stored), decided);
    }
  }

  Database database_{StandaloneUri()};
  std::shared_ptr<Store> store_ = OpenMongodbStore(database_.uri());
  std::shared_ptr<Collection> things_ = store_->Open("things", {}, mongo_rules_test::kDefaultTtl);

 private:
  void Put(const Cases& cases) {
    Doc all;
    all.Add("q", Doc()).Add("limit", 0);
    Doc command = Doc::Of("delete", "things");
    command.Add("deletes", Array().Add(all));
    database_.Run(command);
    database_.Run(Doc::Of("hello", 1), [&](const bson_t& reply) {
      bson_iter_t time;
      ASSERT_TRUE(mongodb::FindField(reply, "localTime", time));
      server_now_ = bson_iter_date_time(&time);
    });
    Array documents;
    for (const Case& one : cases) {
      if (!one.before) continue;
      documents.Add(mongo_rules_test::DocumentOf(one.key, *one.before, one.dialect, server_now_));
    }
    if (documents.size() == 0) return;
    Doc insert = Doc::Of("insert", "things");
    insert.Add("documents", documents);
    database_.Run(insert);
  }

  std::int64_t server_now_ = 0;
};

TEST_F(MongoRules, DecideOperations) {
  ForEachBatch(1, [&](const Cases& cases) { ExpectDecided(cases, mongo_rules_test::OperationOf); });
}

TEST_F(MongoRules, DecideInterventions) {
  ForEachBatch(5,
               [&](const Cases& cases) { ExpectDecided(cases, mongo_rules_test::InterventionOf); });
}

/// A search leaves no entry, and has an id of its own.
void DoNotWait(AcquireOp& op) {
  if (op.grant.queue_for.count() == 0) return;
  op.grant.queue_for = {};
  op.grant.lock_id = NewUuid();
}

/// The next free document, where only one is asked for.
TEST_F(MongoRules, DecideTheNextFree) {
  ForEachBatch(5, [&](const Cases& cases) {
    std::vector<std::unique_ptr<Operation>> operations;
    for (const Case& one : cases) {
      operations.push_back(AcquireOf(one, *things_));
      auto& op = static_cast<AcquireOp&>(operations.back()->op());
      op.insert = {};
      DoNotWait(op);
      Key key("none");
      const auto number = static_cast<std::int64_t>(one.seed % 1'000'000'000);
      store_->AcquireNext(Filter{}.Equal("case", number), op, key, 10s);
      op.key = &one.key;
    }
    const auto stored = Stored();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const auto expected = AcquireOf(cases[i], *things_);
      auto& op = static_cast<AcquireOp&>(expected->op());
      op.insert = {};
      DoNotWait(op);
      std::optional<Record> decided = cases[i].before;
      std::optional<Record> none;
      const bool meets = decided && decided->body.contains("case");
      mongo_rules_test::Decide(op, meets ? decided : none);
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

TEST_F(MongoRules, DecideWhatAPurgeClears) {
  ForEachBatch(5, [&](const Cases& cases) {
    const std::int64_t purged = store_->Purge(*things_, 1'000'000, 10s);
    const auto stored = Stored();
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

std::string TextOf(const LockRow& row) {
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
  for (const LockRow& row : rows) sorted[row.key.ToString()].push_back(TextOf(row));
  for (auto& [key, texts] : sorted) std::sort(texts.begin(), texts.end());
  return sorted;
}

TEST_F(MongoRules, DecideWhatAListShows) {
  ForEachBatch(5, [&](const Cases& cases) {
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

}  // namespace
}  // namespace doclock::mongo_test
