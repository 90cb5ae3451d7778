#include "postgresql/client/epoch.h"

#include "postgresql/client/connection.h"
#include "postgresql/client/quoted.h"

namespace doclock::postgresql {
namespace {

/// An epoch is the millisecond since kFirstMoment in which it began, so that it is above those that
/// were lost, of whichever server. Nothing writes one document so often in a millisecond.
constexpr int kEpochBits = 7;
constexpr std::int64_t kMostEpoch = rules::kHighestVersion >> (kEpochBits + 1);
constexpr const char* kFirstMoment = "timestamptz '2020-01-01Z'";
/// About so much above the last one is an epoch that begins before it by the server's clock: not
/// just so much, so that two of them differ.
constexpr int kADay = 86'400'000;
std::string Here() {
  return "(SELECT " + std::string(kThisServer) + " AS server WHERE " + std::string(kByPrimary) +
         ") AS here";
}
/// The settings that are epochs, and that of `server`: the highest under its name, which is
/// followed by the one that it is above, if the tables were on another server in between.
constexpr const char* kIsEpoch = "name LIKE 'epoch of %'";
constexpr const char* kIsItsEpoch = "name || ' ' LIKE 'epoch of ' || server || ' %'";

std::string Highest(const std::string& meta, const char* which) {
  return "(SELECT max(value::int8) FROM " + meta + " WHERE " + which + ")";
}

}  // namespace

std::string MetaTable(const std::string& schema) { return QuotedName(schema) + ".doclock_meta"; }

bool KnowsEpoch(Connection& connection, const std::string& schema, Deadline deadline) try {
  const std::string meta = MetaTable(schema);
  const Result knows = connection.Ask(
      "SELECT coalesce(" + Highest(meta, kIsItsEpoch) + " = " + Highest(meta, kIsEpoch) +
          ", false) OR has_table_privilege(to_regclass($1), 'INSERT'), " + ThisProcess() +
          " FROM " + Here(),
      Parameters().Text(meta), deadline);
  return knows.NumberIfAny(0, 0) != 0;
} catch (const Refusal& refusal) {
  if (refusal.IsKept()) throw;
  return false;
}

std::optional<Epoch> FindEpoch(Connection& connection, const std::string& schema,
                               Deadline deadline) {
  const std::string meta = MetaTable(schema);
  const std::string own = Highest(meta, kIsItsEpoch), highest = Highest(meta, kIsEpoch);
  const std::string day = std::to_string(kADay);
  // The tables' first server has the versions from zero on. Those that begin an epoch at the same
  // time give it one name.
  const std::string begin =
      "INSERT INTO " + meta +
      " SELECT 'epoch of ' || server || CASE WHEN own IS NULL THEN '' ELSE ' ' || highest END,"
      " CASE WHEN highest IS NULL THEN 0 WHEN now > highest THEN now ELSE highest + " +
      day + " + now % " + day + " END FROM (SELECT server, " + own + " AS own, " + highest +
      " AS highest, (1000 * extract(epoch FROM clock_timestamp() - " + std::string(kFirstMoment) +
      "))::int8 AS now FROM " + Here() +
      ") AS known WHERE own IS NULL OR own < highest ON CONFLICT (name) DO NOTHING";
  try {
    for (const bool is_first : {true, false}) {
      const Result found = connection.Ask("SELECT " + ThisProcess() + ", CASE WHEN " + own + " = " +
                                              highest + " THEN " + own + " END FROM " + Here(),
                                          {}, deadline);
      if (!found.IsNull(0, 1)) {
        return Epoch{std::string(found.Text(0, 0)), found.NumberWithin(0, 1, 0, kMostEpoch)
                                                        << kEpochBits};
      }
      if (!is_first) break;
      connection.Begin();
      connection.Command("SET LOCAL lock_timeout = 0");  // others may store it at the same time
      connection.Command(begin);
      connection.RunAndCommit(deadline);
    }
  } catch (const Refusal& refusal) {
    if (!refusal.TellsOfNothing()) throw;
  }
  return std::nullopt;
}

}  // namespace doclock::postgresql
