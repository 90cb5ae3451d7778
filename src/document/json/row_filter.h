#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "doclock/export.h"
#include "doclock/filter.h"
#include "doclock/store/store.h"

namespace doclock {

// Applies a Filter to rows that a store holds in memory.

/// The body's tree; an empty object, without fields, if the text is not a JSON object.
DOCLOCK_EXPORT const nlohmann::json& TreeOf(const Body& body);

/// Does the document meet the filter's conditions?
DOCLOCK_EXPORT bool Matches(const Filter& filter, const Key& key, const Body& body);

/// Does a document that is locked, or is not, meet the filter's lock condition?
DOCLOCK_EXPORT bool StateMatches(const Filter& filter, bool locked) noexcept;

/// The key that a filter compares as this value; nothing if no key is.
DOCLOCK_EXPORT std::optional<Key> KeyFrom(const nlohmann::json& value);

/// The only key that can meet the filter's conditions; nothing if they name none.
DOCLOCK_EXPORT std::optional<Key> EqualKey(const Filter& filter);

/// Where the document stands in the filter's order.
DOCLOCK_EXPORT Filter::Position PositionOf(const Filter& filter, const Key& key, const Body& body);

/// How long after `now` the first free document falls due that then meets the filter; nothing if
/// none does, or the filter has several Due. `scan` shows the documents that a filter selects.
DOCLOCK_EXPORT std::optional<std::chrono::milliseconds> NextDue(
    const Filter& filter, std::chrono::system_clock::time_point now,
    const std::function<void(const Filter&, const std::function<bool(QueryRow&&)>&)>& scan);

/// The memory for one page of bodies, about, as text. A page has one document at least.
inline constexpr std::size_t kPageBytes = 4 * 1024 * 1024;

/// The most documents that one page, or one scan that sorts, holds.
inline constexpr std::size_t kPageRows = 16'000;

/// Whether a key stands before another one in a store's order of keys.
using KeyOrder = bool (*)(const Key&, const Key&) noexcept;
/// The order of Key.
inline bool OrderOfKey(const Key& a, const Key& b) noexcept { return a < b; }

/// Whether `a` stands before `b` in the filter's order, ties in the order of the keys.
DOCLOCK_EXPORT bool IsBefore(const Filter& filter, const Filter::Position& a,
                             const Filter::Position& b, KeyOrder keys = OrderOfKey) noexcept;

/// The first rows in the filter's order behind `after`, of the documents that are shown to it in
/// any order: at most `most`, and kPageBytes.
class DOCLOCK_EXPORT FirstRows {
  struct Kept {
    Filter::Position position;
    std::size_t bytes;
    QueryRow row;
  };
  [[nodiscard]] auto Order() const noexcept {
    return [this](const Kept& a, const Kept& b) {
      return IsBefore(filter_, a.position, b.position, keys_);
    };
  }

 public:
  FirstRows(const Filter& filter, std::optional<Filter::Position> after, std::size_t most,
            KeyOrder keys = OrderOfKey)
      : filter_(filter), after_(std::move(after)), most_(most), keys_(keys) {}

  /// Is a document with this position to be kept? If not for lack of room, Pass finds out that
  /// there are more.
  [[nodiscard]] bool Admits(const Filter::Position& position);

  /// Looks at a document, which may not match.
  void Show(QueryRow row);

  /// Passes what was kept to `visit`, in order, until it returns false. Returns whether it did not.
  template <class Visit>
  bool Pass(const Visit& visit) {
    std::sort_heap(kept_.begin(), kept_.end(), Order());
    if (left_out_) rest_ = kept_.back().position;
    return std::all_of(kept_.begin(), kept_.end(),
                       [&](Kept& kept) { return visit(std::move(kept.row)); });
  }

  /// After Pass: behind which document there may be more; nothing if there are no more.
  [[nodiscard]] const std::optional<Filter::Position>& rest() const noexcept { return rest_; }

 private:
  const Filter& filter_;
  const std::optional<Filter::Position> after_;
  const std::size_t most_;
  const KeyOrder keys_;
  std::vector<Kept> kept_;  // a heap, with the last one in front
  std::size_t bytes_ = 0;
  bool left_out_ = false;
  std::optional<Filter::Position> rest_;
};

/// Shows the documents that match to `sink`, in the filter's order, until it returns false or the
/// limit is reached, in the memory of a page. `scan` shows all documents to a FirstRows; it is
/// called once for `most` of them, and no more are kept than the limit.
template <class Scan>
void VisitInOrder(const Filter& filter, std::size_t most, const Scan& scan,
                  const std::function<bool(QueryRow&&)>& sink, KeyOrder keys = OrderOfKey) {
  if (filter.limit() > 0) most = std::min(most, static_cast<std::size_t>(filter.limit()));
  std::optional<Filter::Position> after = filter.after();
  std::int64_t shown = 0;
  const auto count = [&](QueryRow&& row) {
    return sink(std::move(row)) && ++shown != filter.limit();
  };
  do {
    FirstRows rows(filter, std::move(after), most, keys);
    scan(rows);
    if (!rows.Pass(count)) return;
    after = rows.rest();
  } while (after);
}

/// The values that a unique index compares.
using UniqueValues = std::vector<nlohmann::json>;

/// The body's values of a unique index over these fields. Nothing if one is missing or null: then
/// the document repeats no other.
DOCLOCK_EXPORT std::optional<UniqueValues> UniqueValuesOf(const std::vector<std::string>& fields,
                                                          const Body& body);

/// Do two documents with these values repeat each other? Numbers are equal by value.
DOCLOCK_EXPORT bool Repeat(const std::optional<UniqueValues>& a,
                           const std::optional<UniqueValues>& b);

}  // namespace doclock
