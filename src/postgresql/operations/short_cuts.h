#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "doclock/store/operations.h"
#include "postgresql/client/values.h"
#include "postgresql/tables/postgresql_collection.h"
#include "rules/rules.h"

namespace doclock::postgresql {

/// Returns the update of this kind of operation; null: there is none.
const RowUpdate PostgresqlCollection::*UpdateOf(rules::Plain kind) noexcept;

/// An update that decides an operation as the rules would, or finds nothing to do: an exclusive
/// lock of a document that is free, and the renewal, release, hand-over or checkpoint of one that
/// its holder has, while no client waits elsewhere.
struct ShortCut {
  StoreOp* op;
  const RowUpdate* update;
  Parameters parameters;
  bool frees;  ///< Does it free the lock?
};

/// Returns the short cut of a kind that has an update; nothing: the body has no room in `jsonb`, of
/// which the long way tells.
std::optional<ShortCut> ShortCutOf(const rules::PlainOp& plain);

/// Whether it was carried out is not known. @param floor of the versions that it would give
void Doubt(const ShortCut& cut, std::int64_t floor, const std::string& text);

/// Settles the operation by the row that its update gave, once that is committed.
void Settle(const ShortCut& cut, const Result& result, int row);

}  // namespace doclock::postgresql
