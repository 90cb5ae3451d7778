#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plain/cases.h"

namespace doclock::plain_test {

using Cases = std::vector<Case>;
using Records = std::map<std::string, Record>;

/// A store decides as src/rules/: random documents, one operation on each, and then what the caller
/// is told and what is stored, both compared. DOCLOCK_RULES_CASES says how many (default 500),
/// DOCLOCK_RULES_SEED the first one.
class StoreAgainstRules : public ::testing::Test {
 protected:
  /// @param things a collection of the store
  StoreAgainstRules(std::shared_ptr<Store> store, std::shared_ptr<Collection> things)
      : store_(std::move(store)), things_(std::move(things)) {}

  /// @param times how often as many cases as DOCLOCK_RULES_CASES says
  void DecideOperations(int times = 1);
  void DecideInterventions();
  /// The next free document, where only one is asked for.
  void DecideTheNextFree();
  void DecideWhatAPurgeClears();
  void DecideWhatAListShows();

  /// Empties the collection, and puts the documents there that stand before. May change these to
  /// what the store can hold.
  virtual void Put(Cases& cases) = 0;
  /// Returns what is stored of them.
  virtual Records Stored(const Cases& cases) = 0;
  /// Carries out operations in one call.
  virtual void Play(std::span<StoreOp* const> ops);

  const std::shared_ptr<Store> store_;
  const std::shared_ptr<Collection> things_;

 private:
  /// Calls `play` with fresh documents until there were enough of them.
  /// @param share of DOCLOCK_RULES_CASES
  void ForEachBatch(double share, const std::function<void(const Cases&)>& play);
  using Make = std::function<std::unique_ptr<Operation>(const Case&, Collection&)>;
  void ExpectDecided(const Cases& cases, const Make& make);
};

}  // namespace doclock::plain_test
