#pragma once

#include <string_view>

namespace doclock::postgresql {

/// An expression, a value for synchronous_commit: as it is, but an acknowledged lock is on the
/// disk.
inline constexpr std::string_view kDurableCommit =
    "CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'"
    " ELSE current_setting('synchronous_commit') END";

}  // namespace doclock::postgresql
