#pragma once

#include <string>
#include <type_traits>

#include "doclock/store.h"
#include "mongodb/bson/bson.h"
#include "mongodb/protocol/expressions.h"
#include "mongodb/protocol/set_where.h"

namespace doclock::mongodb {

/// Does the stage that grants raise the version, or did an earlier one?
enum class Raise : std::uint8_t { kYes, kNo };

/// Grants the lock to the first of a queue, if that is exclusive. Its first stage puts what the
/// others need in place of the queue: { live: the entries, first: the first of them, go: is it
/// granted the lock? }.
class FirstGrant {
 public:
  explicit FirstGrant(const Collection& collection)
      : names_(collection.fields()), queue_(FieldPath(names_.queue)), where_go_(queue_ + ".go") {}

  /// An expression: is the first of this queue exclusive? True of an empty one.
  static Doc FirstIsExclusive(std::string_view queue);

  /// @param queue an expression for the live entries
  /// @param may an expression: may the first be granted the lock?
  /// @param more what else is put there
  static Doc Decision(const Doc& queue, const Doc& may, const Doc& more = {});
  void AddDecision(Array& stages, const Doc& decision) const;
  /// An expression, after the decision: is the first granted the lock?
  [[nodiscard]] Doc Go() const { return where_go_.Flag(); }

  /// @param otherwise the lock's id if nothing is granted: an expression, or nullptr for null
  /// @param own the entry of the attempt itself, which is granted its whole lease
  template <class Otherwise>
  void AddGrant(Array& stages, const Otherwise& otherwise, Raise raise,
                const Uuid* own = nullptr) const {
    Doc id;
    id.Add("0", queue_ + ".go").Add("1", queue_ + ".first.id");
    if constexpr (std::is_null_pointer_v<Otherwise>) {
      id.AddNull("2");
    } else {
      id.Add("2", otherwise);
    }
    AddGrantOf(stages, Doc::OfArray("$cond", id), raise, own);
  }

  /// An empty queue is none.
  void AddTidying(Array& stages) const;

 private:
  void AddGrantOf(Array& stages, const Doc& id, Raise raise, const Uuid* own) const;
  [[nodiscard]] Doc IsOwn(const Uuid& own) const;
  [[nodiscard]] Doc Ttl(const Uuid* own) const;
  [[nodiscard]] Doc Owner() const;
  [[nodiscard]] Doc Closed() const;
  [[nodiscard]] Doc Passed(const Uuid* own) const;

  const LockFieldNames& names_;
  const std::string queue_;
  const SetWhere where_go_;
};

}  // namespace doclock::mongodb
