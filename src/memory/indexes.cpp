#include "memory/indexes.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "document/collection.h"
#include "document/json/row_filter.h"

namespace doclock::memory {
namespace {

using Json = nlohmann::json;

int CompareLists(const std::vector<Json>& a, const std::vector<Json>& b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (const int order = CompareValues(a[i], b[i]); order != 0) return order;
  }
  return 0;
}

bool AreSame(const std::vector<Json>& a, const std::vector<Json>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), Repeats);
}

const Json* EqualValue(const Filter& filter, const std::vector<std::string>& path) {
  for (const Filter::Condition& condition : filter.conditions()) {
    if (condition.op == Filter::Op::kEqual && condition.path == path) return &condition.value;
  }
  return nullptr;
}

/// Bounds the last field by the conditions: documents outside need no look.
void AddBounds(const Filter& filter, const std::vector<std::string>& path, IndexPlan& plan) {
  using Op = Filter::Op;
  for (const Filter::Condition& condition : filter.conditions()) {
    if (condition.path != path) continue;
    const Op op = condition.op;
    if (op == Op::kEqual || op == Op::kGreater || op == Op::kAtLeast) {
      plan.at_least = &condition.value;
    }
    if (op == Op::kEqual || op == Op::kLess || op == Op::kAtMost) plan.at_most = &condition.value;
  }
}

}  // namespace

bool Indexes::Less::operator()(const EntryPtr& a, const EntryPtr& b) const noexcept {
  const int order = CompareLists(a->values, b->values, a->values.size());
  return order != 0 ? order < 0 : a->key < b->key;
}

bool Indexes::Less::operator()(const EntryPtr& a, const Probe& b) const noexcept {
  int order = CompareLists(a->values, b.values, b.values.size());
  if (order == 0 && b.next != nullptr) order = CompareValues(a->values[b.values.size()], *b.next);
  return order != 0 ? order < 0 : b.after;
}

bool Indexes::Less::operator()(const Probe& a, const EntryPtr& b) const noexcept {
  int order = CompareLists(a.values, b->values, a.values.size());
  if (order == 0 && a.next != nullptr) order = CompareValues(*a.next, b->values[a.values.size()]);
  return order != 0 ? order < 0 : !a.after;
}

EntryPtr Indexes::MakeEntry(const Index& index, const Document& document, const Body& body) {
  auto entry = std::make_shared<IndexEntry>();
  const Json& tree = TreeOf(body);
  entry->values.reserve(index.paths.size());
  for (const auto& path : index.paths) entry->values.push_back(ValueAt(tree, path));
  entry->key = document.key;
  entry->hash = document.hash;
  return entry;
}

bool Indexes::Refuses(const Index& index, const IndexEntry& entry) {
  if (!index.unique) return false;
  // Documents that lack one of the fields do not conflict.
  if (std::any_of(entry.values.begin(), entry.values.end(),
                  [](const Json& value) { return value.is_null(); })) {
    return false;
  }
  const auto first = index.entries.lower_bound(Probe{entry.values});
  const auto last = index.entries.upper_bound(Probe{entry.values, nullptr, /*after=*/true});
  return std::any_of(first, last, [&](const EntryPtr& other) {
    return other->key != entry.key && AreSame(other->values, entry.values);
  });
}

void Indexes::Build(const IndexSpec& spec, const std::vector<Document*>& documents) {
  const std::lock_guard guard(mutex_);
  for (const auto& known : indexes_) {
    if (known->fields == spec.fields && known->unique == spec.unique) return;
  }
  auto index = std::make_unique<Index>();
  index->name = FieldList(spec.fields);
  index->fields = spec.fields;
  index->unique = spec.unique;
  for (const std::string& field : spec.fields) {
    index->paths.push_back(Filter().OrderBy(field).order());  // reads dots as Filter does
  }
  std::vector<EntryPtr> entries;
  for (const Document* document : documents) {
    entries.push_back(MakeEntry(*index, *document, document->body));
    if (Refuses(*index, *entries.back())) ThrowRepeatedValues(spec.fields);
    index->entries.insert(entries.back());
  }
  for (Document* document : documents) document->entries.reserve(indexes_.size() + 1);
  indexes_.push_back(std::move(index));
  for (std::size_t i = 0; i < documents.size(); ++i) {
    documents[i]->entries.push_back(std::move(entries[i]));
  }
}

std::optional<std::string> Indexes::Put(Document& document, const Body& body) {
  Changes changes(*this);
  std::optional<std::string> refusal = changes.Put(document, body);
  if (!refusal) changes.Keep();
  return refusal;
}

std::optional<std::string> Indexes::Changes::Put(Document& document, const Body& body) {
  document.entries.resize(indexes_.indexes_.size());
  for (std::size_t i = 0; i < document.entries.size(); ++i) {
    Index& index = *indexes_.indexes_[i];
    EntryPtr entry = MakeEntry(index, document, body);
    const EntryPtr& former = document.entries[i];
    if (former && AreSame(former->values, entry->values)) continue;
    if (Refuses(index, *entry)) return index.name;
    Step& step = Take(document, i);
    step.entry = std::move(entry);
    index.entries.insert(step.entry);
    step.inserted = true;
  }
  return std::nullopt;
}

void Indexes::Changes::Remove(Document& document) {
  for (std::size_t i = 0; i < document.entries.size(); ++i) Take(document, i);
}

Indexes::Changes::Step& Indexes::Changes::Take(Document& document, std::size_t index) {
  steps_.push_back({&document, index, {}, nullptr});
  Step& step = steps_.back();
  const EntryPtr& former = document.entries[index];
  if (former) step.former = indexes_.indexes_[index]->entries.extract(former);
  return step;
}

void Indexes::Changes::Keep() noexcept {
  for (Step& step : steps_) step.document->entries[step.index] = std::move(step.entry);
  steps_.clear();
}

Indexes::Changes::~Changes() {
  for (; !steps_.empty(); steps_.pop_back()) {
    Step& step = steps_.back();
    Entries& all = indexes_.indexes_[step.index]->entries;
    if (step.inserted) all.erase(step.entry);
    if (step.former) all.insert(std::move(step.former));
  }
}

void Indexes::Remove(Document& document) noexcept {
  const std::lock_guard guard(mutex_);
  for (std::size_t i = 0; i < document.entries.size(); ++i) {
    indexes_[i]->entries.erase(document.entries[i]);
  }
  document.entries.clear();
}

std::optional<IndexPlan> Indexes::PlanWith(const Index& index, const Filter& filter) {
  IndexPlan plan;
  plan.descending = filter.descending();
  for (const auto& path : index.paths) {
    if (path == filter.order() && &path == &index.paths.back()) {
      AddBounds(filter, path, plan);
      return plan;
    }
    const Json* value = EqualValue(filter, path);
    if (value == nullptr) return std::nullopt;
    plan.prefix.push_back(*value);
  }
  // All fields are fixed, so the entries come by key: that is the order of a filter without one.
  if (!filter.order().empty() || filter.descending()) return std::nullopt;
  return plan;
}

std::optional<IndexPlan> Indexes::PlanFor(const Filter& filter) const {
  const std::lock_guard guard(mutex_);
  std::optional<IndexPlan> best;
  for (std::size_t i = 0; i < indexes_.size(); ++i) {
    std::optional<IndexPlan> plan = PlanWith(*indexes_[i], filter);
    if (!plan || (best && best->prefix.size() >= plan->prefix.size())) continue;
    best = std::move(plan);
    best->index = i;
  }
  if (best && filter.after()) {
    auto after = std::make_shared<IndexEntry>();
    after->values = best->prefix;
    if (!filter.order().empty()) after->values.push_back(filter.after()->value);
    after->key = filter.after()->key;
    best->after = std::move(after);
  }
  return best;
}

/// Walks the entries of a plan in the filter's order: by value up or down, equal values by key
/// upwards.
class Indexes::Walk {
 public:
  Walk(const Index& index, const IndexPlan& plan)
      : entries_(index.entries),
        descending_(plan.descending),
        first_(entries_.lower_bound(Probe{plan.prefix, plan.at_least})),
        last_(entries_.upper_bound(Probe{plan.prefix, plan.at_most, /*after=*/true})) {
    // The bounds exclude each other: no entry.
    if (plan.at_least != nullptr && plan.at_most != nullptr &&
        CompareValues(*plan.at_least, *plan.at_most) > 0) {
      last_ = first_;
    }
    current_ = first_;
    if (descending_) GroupBefore(last_);
  }

  void SkipTo(const EntryPtr& position) {
    // The bounds part no equal values; of these, which come by key upwards, some may be gone.
    const auto precedes = [](const EntryPtr& a, const EntryPtr& b) {
      return CompareLists(a->values, b->values, a->values.size()) < 0;
    };
    const bool is_before = first_ != entries_.end() && precedes(position, *first_);
    const bool is_behind = last_ != entries_.end() && !precedes(position, *last_);
    if (is_before || is_behind) {
      if (is_before == descending_) current_ = last_;
      return;  // else it stands at the beginning
    }
    current_ = entries_.upper_bound(position);
    if (descending_) LeaveGroup(*position);
  }

  [[nodiscard]] bool AtEnd() const { return current_ == last_; }
  [[nodiscard]] const EntryPtr& Entry() const { return *current_; }

  void Step() {
    const IndexEntry& left = **current_;
    ++current_;
    if (descending_) LeaveGroup(left);
  }

 private:
  /// Stands behind `left`: when that was the last of its values, goes to those before them.
  void LeaveGroup(const IndexEntry& left) {
    const bool same = current_ != entries_.end() &&
                      CompareLists((*current_)->values, left.values, left.values.size()) == 0;
    if (!same) GroupBefore(entries_.lower_bound(Probe{left.values}));
  }

  /// Goes to the first of the entries that have the values of the one before `end`.
  void GroupBefore(Entries::const_iterator end) {
    if (first_ == last_ || end == first_) {
      current_ = last_;
    } else {
      current_ = entries_.lower_bound(Probe{(*std::prev(end))->values});
    }
  }

  const Entries& entries_;
  bool descending_;
  Entries::const_iterator first_, last_, current_;
};

std::vector<EntryPtr> Indexes::Next(const IndexPlan& plan, const EntryPtr& position,
                                    std::size_t count) const {
  std::vector<EntryPtr> entries;
  const std::lock_guard guard(mutex_);
  Walk walk(*indexes_[plan.index], plan);
  if (position) walk.SkipTo(position);
  for (; !walk.AtEnd() && entries.size() < count; walk.Step()) entries.push_back(walk.Entry());
  return entries;
}

}  // namespace doclock::memory
