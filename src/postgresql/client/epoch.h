#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "locking/database.h"

namespace doclock::postgresql {

using locking::Deadline;
class Connection;

/// An expression: the server that answers, of which each timeline is another one.
inline constexpr std::string_view kThisServer =
    "((SELECT system_identifier FROM pg_control_system()) || '/' ||"
    " ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int8)";

/// An expression: the same, and when it was started. Standbys of one primary that were promoted
/// apart may have the same timeline.
inline std::string ThisProcess() {
  return "(" + std::string(kThisServer) +
         " || ' ' || extract(epoch FROM pg_postmaster_start_time()))";
}

/// What FindEpoch tells of a server.
struct Epoch {
  std::string process;     ///< See ThisProcess; empty: the server does not tell.
  std::int64_t floor = 0;  ///< The least version that a grant or a write over it gives.
};

/// The table of a schema's settings.
std::string MetaTable(const std::string& schema);

/// The epoch of this server, which doclock_meta keeps: its versions are above all that may have
/// been lost when it was a standby and was promoted, or when the tables were restored to another
/// server. Nothing if it has no timelines, or the user may not know or keep them.
std::optional<Epoch> FindEpoch(Connection& connection, const std::string& schema,
                               Deadline deadline);

/// Would FindEpoch know it, and may keep it? Stores nothing.
bool KnowsEpoch(Connection& connection, const std::string& schema, Deadline deadline);

}  // namespace doclock::postgresql
