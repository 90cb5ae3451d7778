#include "postgresql/client/failure.h"

#include "locking/database.h"

namespace doclock::postgresql {
namespace {

[[noreturn]] void Throw(const Refusal& refusal) {
  if (refusal.IsRace()) throw locking::Raced();
  if (refusal.IsKept()) throw StoreException(Errc::kUnavailable, locking::kKeptText);
  // A connection, a resource, an operator, or the system: it may pass.
  const std::string kind = refusal.state.substr(0, 2);
  const bool passes = kind == "08" || kind == "53" || kind == "57" || kind == "58";
  const char* const why = refusal.IsUnwritten() ? ": a trigger or a rule of the table kept a "
                                                  "row from being written or erased. Drop it"
                          : refusal.state == "54000"
                              ? ": a value, or the list of the fields, is too long for an "
                                "index"
                          : refusal.state == "57014" ? ": it took too long, or was cancelled: "
                                                       "other clients' transactions may keep the "
                                                       "document"
                          : refusal.state == "42501" ? ": the user lacks a privilege"
                          : refusal.state == "42P01"
                              ? ": a table is missing, of this library or one that a trigger names"
                          : refusal.state == "P0001" ? ": a trigger raised an exception"
                          : refusal.state == "0A000" ? ": was a column's type changed while the "
                                                       "store was open?"
                          : refusal.state == "26000" ? ": does a pooler give each transaction "
                                                       "another session? Name the server itself"
                                                     : "";
  throw StoreException(
      passes ? Errc::kUnavailable : Errc::kRefused,
      "doclock: PostgreSQL refused a statement (SQLSTATE " + refusal.state + ")" + why);
}

}  // namespace

void ThrowNothingStored() {
  try {
    throw;
  } catch (const Refusal& refusal) {
    Throw(refusal);
  } catch (const Loss& loss) {
    // Of a session that ended while nobody used it, say.
    throw locking::Raced("doclock: PostgreSQL: " + loss.text);
  }
}

}  // namespace doclock::postgresql
