#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "plain/record.h"

namespace doclock::plain_test {

/// A document and an operation on it, both made from one number: few ids, few moments, few
/// versions, so that they often mean the same.
struct Case {
  explicit Case(std::uint64_t seed);

  std::uint64_t seed;
  Key key;
  std::optional<Record> before;  ///< None: there is no such document.
  bool alone;                    ///< Its operation is executed by itself, not among others.
};

/// An operation with what it points at.
struct Operation {
  virtual ~Operation() = default;
  virtual StoreOp& op() = 0;
};

/// The operation of a case; the same each time.
std::unique_ptr<Operation> OperationOf(const Case& one, Collection& collection);
/// What an operator does to the lock, or to a share, that another holds: ends its lease, breaks it,
/// or steals it.
std::unique_ptr<Operation> InterventionOf(const Case& one, Collection& collection);
/// One that takes the lock exclusively, if it can be had now.
std::unique_ptr<Operation> AcquireOf(const Case& one, Collection& collection);

}  // namespace doclock::plain_test
