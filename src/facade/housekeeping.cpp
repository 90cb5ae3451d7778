#include <algorithm>
#include <stdexcept>

#include "doclock/detail/facade.h"
#include "engine/engine.h"

namespace doclock::detail {
namespace {

/// Locks per call of the store. Each call searches from the beginning, past what earlier calls
/// cleared. It clears in smaller steps, so that no step delays other calls for long.
constexpr std::int64_t kPurgeBatch = 10'000;

bool Holds(const std::vector<std::string>& fields, const std::string& field) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

std::string Joined(const std::vector<std::string>& path) {
  std::string field;
  for (const std::string& name : path) field += (field.empty() ? "" : ".") + name;
  return field;
}

/// The fields compared for equality, then that of the order, or without an order the first one with
/// a range.
IndexSpec IndexFor(const Filter& filter) {
  using Op = Filter::Op;
  IndexSpec index;
  std::string range;
  for (const Filter::Condition& condition : filter.conditions()) {
    if (IsKeyPath(condition.path)) continue;  // every index ends with the key
    const std::string field = Joined(condition.path);
    if (condition.op == Op::kEqual && !Holds(index.fields, field)) {
      index.fields.push_back(field);
    } else if (condition.op != Op::kEqual && condition.op != Op::kNotEqual && range.empty()) {
      range = field;
    }
  }
  const std::string last = filter.order().empty() ? range : Joined(filter.order());
  if (!last.empty() && !Holds(index.fields, last)) {
    index.fields.push_back(last);
    index.descending = filter.descending();
  }
  return index;
}

Store& OpenStoreOf(const Binding& binding) {
  if (const auto closed = WhyClosed(*binding.engine)) {
    closed->Throw();
  }
  return binding.engine->store();
}

}  // namespace

void EnsureIndexesOf(const Binding& binding, const std::vector<Filter>& searches) {
  Store& store = OpenStoreOf(binding);
  IndexSpec locks;
  locks.held_locks = true;
  store.EnsureIndex(*binding.collection, locks);
  for (const Filter& search : searches) {
    const IndexSpec index = IndexFor(search);
    if (!index.fields.empty()) store.EnsureIndex(*binding.collection, index);
  }
}

void EnsureIndexOf(const Binding& binding, std::vector<std::string> fields, bool unique) {
  if (fields.empty()) throw std::invalid_argument("EnsureIndex: no fields");
  const IndexSpec index{.fields = std::move(fields), .unique = unique};
  static_cast<void>(WithoutKey(index));  // refuses bad names
  OpenStoreOf(binding).EnsureIndex(*binding.collection, index);
}

std::int64_t PurgeAll(const Binding& binding) {
  const auto budget = binding.engine->options().call_budget.ms();
  std::int64_t total = 0;
  for (;;) {
    const std::int64_t count = OpenStoreOf(binding).Purge(*binding.collection, kPurgeBatch, budget);
    // Fewer may mean that the call ran out of time.
    if (count == 0) return total;
    total += count;
  }
}

}  // namespace doclock::detail
