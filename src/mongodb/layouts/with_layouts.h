#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mongodb/layouts/layout_store.h"

namespace doclock::mongodb {

/// A store some of whose collections are another library's. Only a store with layouts is one, so
/// that all others are what they were. @tparam Base the store on MongoDB
template <class Base>
class WithLayouts final : public Base {
 public:
  using milliseconds = std::chrono::milliseconds;

  template <class... Arguments>
  WithLayouts(Layouts layouts, bool creates, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)..., creates),
        others_(this->database().server(), this->database().clocks(), std::move(layouts), creates) {
  }

  std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                   milliseconds default_ttl) override {
    return others_.Has(name) ? others_.Open(name, fields, default_ttl)
                             : Base::Open(name, fields, default_ttl);
  }
  [[nodiscard]] std::shared_ptr<Collection> Find(const std::string& name) const override {
    return others_.Has(name) ? others_.Find(name) : Base::Find(name);
  }
  void Execute(std::span<StoreOp* const> ops, milliseconds budget) override {
    std::vector<StoreOp*> ours, theirs;
    for (StoreOp* const op : ops) (IsTheirs(*op->collection) ? theirs : ours).push_back(op);
    const auto start = std::chrono::steady_clock::now();
    if (!ours.empty()) Base::Execute(ours, budget);
    if (theirs.empty()) return;
    const auto used = std::chrono::ceil<milliseconds>(std::chrono::steady_clock::now() - start);
    others_.Execute(theirs, std::max(budget - used, budget / 4));
  }
  void Commit(CommitOp& commit, milliseconds budget) override {
    for (StoreOp* const op : commit.ops) {
      if (IsTheirs(*op->collection)) return others_.Commit(commit, budget);
    }
    Base::Commit(commit, budget);
  }
  void ReadTogether(std::span<StoreOp* const> reads, milliseconds budget) override {
    for (StoreOp* const op : reads) {
      if (IsTheirs(*op->collection)) return others_.ReadTogether(reads, budget);
    }
    Base::ReadTogether(reads, budget);
  }
  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink, milliseconds budget) override {
    IsTheirs(collection) ? others_.Query(collection, filter, sink, budget)
                         : Base::Query(collection, filter, sink, budget);
  }
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key, milliseconds budget) override {
    IsTheirs(*op.collection) ? others_.AcquireNext(filter, op, key, budget)
                             : Base::AcquireNext(filter, op, key, budget);
  }
  std::int64_t Purge(Collection& collection, std::int64_t limit, milliseconds budget) override {
    if (!IsTheirs(collection)) return Base::Purge(collection, limit, budget);
    return others_.Purge(collection, limit, budget);
  }
  LockPage ListLocks(Collection& collection, const LockQuery& query, const std::string& after,
                     milliseconds budget) override {
    if (!IsTheirs(collection)) return Base::ListLocks(collection, query, after, budget);
    return others_.ListLocks(collection, query, after, budget);
  }
  std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) override {
    if (IsTheirs(collection)) return others_.Watch(collection, std::move(listener));
    return Base::Watch(collection, std::move(listener));
  }
  void EnsureIndex(Collection& collection, const IndexSpec& index) override {
    if (!IsTheirs(collection)) return Base::EnsureIndex(collection, index);
    others_.EnsureIndex(collection, index);
  }
  std::vector<Finding> Examine(Collection* collection, milliseconds budget) override {
    if (collection == nullptr || !IsTheirs(*collection)) return Base::Examine(collection, budget);
    auto findings = Base::Examine(nullptr, budget / 2);
    for (Finding& one : others_.Examine(collection, budget / 2)) {
      findings.push_back(std::move(one));
    }
    return findings;
  }

 private:
  static bool IsTheirs(const Collection& collection) noexcept {
    return collection.turns() != nullptr;
  }

  LayoutStore others_;
};

}  // namespace doclock::mongodb
