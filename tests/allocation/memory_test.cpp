/// Memory may run out at any allocation of a commit: either all of it is stored, or nothing.

#include <gtest/gtest.h>

#include <array>
#include <new>
#include <nlohmann/json.hpp>

#include "allocation/failing_new.h"
#include "doclock/document.h"
#include "doclock/open_store.h"

namespace doclock::allocation_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class MemoryCommit : public ::testing::Test {
 protected:
  MemoryCommit() { store_->EnsureIndex(*things_, {{"email"}, true}); }

  SaveOp Save(SaveKind kind, const Key& key, const char* email) {
    SaveOp op(*things_, key);
    op.request.save = kind;
    op.request.write_id = NewUuid();
    if (kind != SaveKind::kErase) op.request.body = Body::FromJson({{"email", email}});
    if (kind == SaveKind::kReplace) {
      const ReadOp read = Read(key);
      op.request.expected = read.result.version;
      op.request.born = read.result.born;
    }
    return op;
  }
  void Put(const Key& key, const char* email) {
    SaveOp op = Save(SaveKind::kInsert, key, email);
    const std::array<StoreOp*, 1> ops{&op};
    store_->Execute(ops, 1s);
    ASSERT_EQ(op.status, OpStatus::kDone);
  }
  ReadOp Read(const Key& key) {
    ReadOp op(*things_, key);
    const std::array<StoreOp*, 1> ops{&op};
    store_->Execute(ops, 1s);
    return op;
  }
  json All() {
    json all = json::object();
    store_->Query(
        *things_, Filter().OrderBy("email"),
        [&](QueryRow&& row) {
          all[row.key.ToString()] = row.body.json().at("email");
          return true;
        },
        1s);
    return all;
  }

  const std::shared_ptr<Store> store_ = OpenMemoryStore();
  const std::shared_ptr<Collection> things_ = store_->Open("things", {}, 1s);
};

TEST_F(MemoryCommit, StoresAllOrNothing) {
  const Key a = "a", b = "b", c = "c", d = "d";
  Put(a, "one");
  Put(b, "two");
  Put(c, "three");
  const json before = All();
  const json after = {{"a", "four"}, {"b", "one"}, {"d", "three"}};
  bool failed = true;
  for (int n = 1; failed; ++n) {
    std::array saves{Save(SaveKind::kReplace, a, "four"), Save(SaveKind::kReplace, b, "one"),
                     Save(SaveKind::kErase, c, ""), Save(SaveKind::kInsert, d, "three")};
    const std::array<StoreOp*, 4> ops{&saves[0], &saves[1], &saves[2], &saves[3]};
    CommitOp commit;
    commit.ops = ops;
    FailingNew::FailAt(n);
    try {
      const CodeUnderTest code;
      store_->Commit(commit, 1s);
    } catch (const std::bad_alloc&) {
    }
    failed = FailingNew::failed();
    FailingNew::Disarm();
    const json found = All();
    if (found != before) break;
    ASSERT_TRUE(failed) << "nothing was stored, and memory had not run out";
  }
  EXPECT_EQ(All(), after);
  Put("e", "two");
}

}  // namespace
}  // namespace doclock::allocation_test
