#include "postgresql/client/epoch.h"

#include "postgresql/client/connection.h"
#include "postgresql/client/quoted.h"

namespace doclock::postgresql {
namespace {

/// More grants and writes than a document has before one standby is promoted and the next.
constexpr int kEpochBits = 40;
std::string Here() { return "(SELECT " + std::string(kThisServer) + " AS server) AS here"; }
/// Of `server`: the setting that is its epoch.
constexpr const char* kEpochOf = "'epoch of ' || server";

}  // namespace

std::string MetaTable(const std::string& schema) { return QuotedName(schema) + ".doclock_meta"; }

bool KnowsEpoch(Connection& connection, const std::string& schema, Deadline deadline) try {
  connection.SendOnce(
      "SELECT value IS NOT NULL OR has_table_privilege(to_regclass($1), 'INSERT') FROM " + Here() +
          " LEFT JOIN " + MetaTable(schema) + " ON name = " + kEpochOf,
      Parameters().Text(MetaTable(schema)));
  return connection.Run(deadline).back().Number(0, 0) != 0;
} catch (const Refusal&) {
  return false;
}

std::optional<Epoch> FindEpoch(Connection& connection, const std::string& schema,
                               Deadline deadline) {
  // An epoch that was lost itself lies in the difference of the timelines.
  const std::string next =
      "SELECT value::int8 + CASE WHEN split_part(name, '/', 1) = split_part(" +
      std::string(kEpochOf) +
      ", '/', 1) THEN greatest(split_part(server, '/', 2)::int8 - split_part(name, '/', 2)::int8,"
      " 1) ELSE 1 END FROM " +
      MetaTable(schema) + " WHERE name LIKE 'epoch of %' ORDER BY value::int8 DESC LIMIT 1";
  try {
    for (const bool is_first : {true, false}) {
      connection.SendOnce("SELECT server, value::int8 FROM " + Here() + " LEFT JOIN " +
                          MetaTable(schema) + " ON name = " + kEpochOf);
      const Result found = std::move(connection.Run(deadline).back());
      if (!found.IsNull(0, 1)) {
        return Epoch{std::string(found.Text(0, 0)), found.Number(0, 1) << kEpochBits};
      }
      if (!is_first) break;
      connection.Begin();
      connection.SendOnce("INSERT INTO " + MetaTable(schema) + " SELECT " + kEpochOf +
                          ", coalesce((" + next + "), 0) FROM " + Here() +
                          " ON CONFLICT (name) DO NOTHING");
      connection.RunAndCommit(deadline);
    }
  } catch (const Refusal& refusal) {
    if (!refusal.TellsOfNothing()) throw;
  }
  return std::nullopt;
}

}  // namespace doclock::postgresql
