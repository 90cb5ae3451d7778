#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "histories/worker/steps.h"

namespace doclock::histories {

/// What another thread does: it moves amounts between accounts by transactions, reads all accounts
/// at one moment, and records all of it. The sum of the amounts is constant.
class Transfers : private Steps {
 public:
  Transfers(const Settings& settings, Record& record, const Client& client, int thread)
      : Steps(settings, record, client, thread) {}

  void Run(std::chrono::steady_clock::time_point end) {
    while (std::chrono::steady_clock::now() < end) Step();
  }
  void Finish() {
    ReadAll();
    for (int i = 0; i < kAccounts; ++i) TakeLast(client_.accounts, KeyOf(i), First(i));
  }

 private:
  using Found = std::vector<std::optional<Snapshot<Json>>>;

  static constexpr int kAccounts = 3;
  static constexpr int kFirstAmount = 100;
  static std::string KeyOf(int number) { return "account" + std::to_string(number); }
  static Json First(int number) {
    return {{"v", "first"}, {"kind", "account"}, {"number", number}, {"amount", kFirstAmount}};
  }

  void Step() {
    if (Below(100) < 30) {
      for (const auto& found : ReadAll()) {
        if (!found) return Create();
      }
    } else if (Below(100) < settings_.together) {
      ChangeTogether();
    } else if (Below(100) < 70) {
      MoveUnderLocks();
    } else {
      MoveUnchanged();
    }
  }

  /// All accounts, or none.
  void Create() {
    Transaction transaction(client_.manager);
    for (int i = 0; i < kAccounts; ++i) transaction.Insert(client_.accounts, KeyOf(i), First(i));
    const std::int64_t id = record_.Call(Call("create all", ""));
    Complete(id, [&] {
      transaction.Commit();
      return Json::object();
    });
  }

  /// Reads all accounts by their keys, or by a filter. Empty: they could not be read.
  Found ReadAll() {
    Found all;
    const bool by_filter = Below(2) == 0;
    Json call = Call("read all", "");
    call["sum"] = kAccounts * kFirstAmount;
    const std::int64_t id = record_.Call(std::move(call));
    const bool done = Complete(id, [&] {
      all = by_filter ? FindAll() : ReadKeys();
      Json reads = Json::array();
      for (int i = 0; i < kAccounts; ++i) reads.push_back(ReadLine(KeyOf(i), all[Place(i)]));
      return Json{{"reads", reads}};
    });
    return done ? std::move(all) : Found();
  }
  [[nodiscard]] Found ReadKeys() const {
    const auto& accounts = client_.accounts;
    static_assert(kAccounts == 3);
    auto [a, b, c] =
        doclock::Read(accounts.At(KeyOf(0)), accounts.At(KeyOf(1)), accounts.At(KeyOf(2)));
    Found all;
    for (auto* one : {&a, &b, &c}) all.push_back(std::move(*one));
    return all;
  }
  [[nodiscard]] Found FindAll() const {
    Found all(kAccounts);
    for (Snapshot<Json>& found : client_.accounts.Find(Filter().Equal("kind", "account"))) {
      const int number = found->at("number");
      all[Place(number)] = std::move(found);
    }
    return all;
  }
  static std::size_t Place(int number) { return static_cast<std::size_t>(number); }
  static Json ReadLine(const std::string& key, const std::optional<Snapshot<Json>>& found) {
    if (!found) return {{"key", key}, {"read", nullptr}};
    return {{"key", key}, {"read", (*found)->at("v")}, {"amount", (*found)->at("amount")}};
  }

  std::pair<int, int> TwoAccounts() {
    const int from = Below(kAccounts);
    return {from, (from + 1 + Below(kAccounts - 1)) % kAccounts};
  }

  /// Locks two accounts, and moves an amount once or twice: the locks are kept in between.
  void MoveUnderLocks() {
    const auto [from, to] = TwoAccounts();
    std::vector<Locked<Json>> locks;
    grants_.clear();
    const std::int64_t id = record_.Call(Call("lock all", ""));
    const bool done = Complete(id, [&, from = from, to = to] {
      locks = client_.accounts.LockAll({KeyOf(from), KeyOf(to)}, {.wait = Wait()});
      Json all = Json::array();
      for (const auto& lock : locks) all.push_back(GrantLine(lock));
      return Json{{"grants", all}};
    });
    if (!done) return;
    HoldAll(locks);
    if (Below(4) == 0) {
      if (!Move(locks[0], locks[1], [&](Transaction& both) { both.Save(locks[0]).Save(locks[1]); }))
        return HoldAll(locks);  // what is refused leaves them held
      HoldAll(locks);
    }
    if (Below(10) == 0) return;  // the handles give them back
    if (!Move(locks[0], locks[1], [&](Transaction& both) { both.Release(locks); })) HoldAll(locks);
  }
  void HoldAll(const std::vector<Locked<Json>>& locks) {
    for (std::size_t i = 0; i < locks.size(); ++i) Hold(locks[i], grants_[i]);
  }

  /// Moves an amount between two accounts that are as they were read, without a lock.
  void MoveUnchanged() {
    const auto [from, to] = TwoAccounts();
    Found all = ReadAll();
    if (all.empty() || !all[Place(from)] || !all[Place(to)]) return;
    Snapshot<Json>&a = *all[Place(from)], &b = *all[Place(to)];
    grants_.clear();
    Move(a, b,
         [&](Transaction& both) { both.Save(client_.accounts, a).Save(client_.accounts, b); });
  }

  /// Moves an amount between two accounts; or marks the one, and only reads the other: then no
  /// other client may have changed that until the commit.
  void ChangeTogether() {
    const auto [from, to] = TwoAccounts();
    const int amount = Below(2) * (1 + Below(9));
    const std::int64_t id = record_.Call(Call("update all", ""));
    Complete(id, [&, from = from, to = to] {
      const auto& accounts = client_.accounts;
      doclock::Update(
          accounts.At(KeyOf(from)), accounts.At(KeyOf(to)),
          [&](Json& a, Json& b, Transaction&) {
            Json line{{"e", "try"}, {"id", id}, {"writes", {Change(KeyOf(from), a, -amount)}}};
            if (amount > 0) {
              line["writes"].push_back(Change(KeyOf(to), b, amount));
            } else {
              line["expects"] = {Json{{"key", KeyOf(to)}, {"read", b.at("v")}}};
            }
            record_.Write(std::move(line));
          },
          {.within = Wait()});
      return Json::object();
    });
  }

  /// Moves an amount and commits what `enlist` names. False: it was not written.
  template <class Document>
  bool Move(Document& from, Document& to, const std::function<void(Transaction&)>& enlist) {
    Transaction both(client_.manager);
    enlist(both);
    const int amount = 1 + Below(9);
    Json call = Call("transfer", "");
    call["writes"] = {Change(from.key().ToString(), *from, -amount),
                      Change(to.key().ToString(), *to, amount)};
    for (std::size_t i = 0; i < grants_.size(); ++i) call["writes"][i]["grant"] = grants_[i];
    const bool asynchronous = Below(4) == 0;
    const std::int64_t id = record_.Call(std::move(call));
    return Complete(id, [&] {
      asynchronous ? both.CommitAsync().get() : both.Commit();
      return Json{{"versions", {from.version(), to.version()}}};
    });
  }
  Json Change(const std::string& key, Json& account, int by) {
    const Json before = account.at("v");
    const std::string value = Fresh();
    account["v"] = value;
    account["amount"] = account.at("amount").get<int>() + by;
    return {{"key", key}, {"prev", before}, {"write", value}};
  }
};

}  // namespace doclock::histories
