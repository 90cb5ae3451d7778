#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "doclock/testing/faulty_store.h"
#include "engine/runtime/passing_runtime.h"

namespace doclock {

/// The points of an operation: before each of its manager's tasks, and before and after each call
/// of the store. Something happens at one of them. For one thread.
class Points {
 public:
  /// Counts from now on, and does `what` at the `which`th point.
  void StrikeAt(int which, std::function<void()> what) {
    left_ = which;
    what_ = std::move(what);
  }
  /// Counts no further.
  void Stop() { what_ = nullptr; }
  /// Was it reached?
  [[nodiscard]] bool struck() const { return left_ < 0; }

  void Pass() {
    if (!what_ || left_-- > 0) return;
    const auto what = std::exchange(what_, nullptr);
    what();
  }

 private:
  int left_ = 0;
  std::function<void()> what_;
};

/// A runtime each of whose tasks is a point.
class PointRuntime : public test::PassingRuntime {
 public:
  PointRuntime(std::shared_ptr<Runtime> inner, std::shared_ptr<Points> points)
      : PassingRuntime(std::move(inner)), points_(std::move(points)) {}

  TimerId Schedule(TimePoint when, Task task) override {
    return PassingRuntime::Schedule(when, With(std::move(task)));
  }
  void Post(Task task) override { PassingRuntime::Post(With(std::move(task))); }
  void Work(Task task) override { PassingRuntime::Work(With(std::move(task))); }
  void Notify(Task task) override { PassingRuntime::Notify(With(std::move(task))); }

 private:
  Task With(Task task) const {
    return [task = std::move(task), points = points_] {
      points->Pass();
      task();
    };
  }

  const std::shared_ptr<Points> points_;
};

/// A store: a point before and after each call that the engine makes with no mutex of its own.
class PointStore : public testing::FaultyStore {
 public:
  PointStore(std::shared_ptr<Store> inner, std::shared_ptr<Points> points)
      : FaultyStore(std::move(inner)), points_(std::move(points)) {}

  void Execute(std::span<StoreOp* const> ops, std::chrono::milliseconds budget) override {
    points_->Pass();
    FaultyStore::Execute(ops, budget);
    points_->Pass();
  }
  void Commit(CommitOp& commit, std::chrono::milliseconds budget) override {
    points_->Pass();
    FaultyStore::Commit(commit, budget);
    points_->Pass();
  }
  void Query(Collection& collection, const Filter& filter,
             const std::function<bool(QueryRow&&)>& sink,
             std::chrono::milliseconds budget) override {
    points_->Pass();
    FaultyStore::Query(collection, filter, sink, budget);
    points_->Pass();
  }
  void AcquireNext(const Filter& filter, AcquireOp& op, Key& key,
                   std::chrono::milliseconds budget) override {
    points_->Pass();
    FaultyStore::AcquireNext(filter, op, key, budget);
    points_->Pass();
  }
  /// None: hints come at no certain point.
  std::unique_ptr<Subscription> Watch(Collection&, HintListener) override { return nullptr; }

 private:
  const std::shared_ptr<Points> points_;
};

}  // namespace doclock
