#include "postgresql/query/scan.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "document/json/row_filter.h"
#include "postgresql/query/search.h"
#include "postgresql/tables/texts.h"

namespace doclock::postgresql {
void Scan::Run(const Filter& filter, bool whole, const std::function<bool(QueryRow&&)>& visit) {
  constexpr std::size_t kAtOnce = 8;  // bodies may be large
  constexpr std::int64_t kFew = 16;
  const bool ordered = !filter.order().empty();
  const bool few = ordered && filter.limit() > 0 && filter.limit() <= kFew;
  const std::string body = ordered ? MembersFor(filter) : std::string(kWholeBody);
  const auto run = [&](const sql::Select& select, const std::function<bool(QueryRow&&)>& show) {
    ForEachRow(body, select, few, [&](FoundRow&& found) {
      const rules::LockState& lock = found.entry.lock;
      // A malformed lock may be held; it is not free.
      const bool locked = found.malformed || lock.IsLive(now_);
      return show(
          {std::move(found.key), std::move(found.entry.body), lock.version, lock.born, locked});
    });
  };
  std::vector<QueryRow> found;
  const auto collect = [&](QueryRow&& row) {
    found.push_back(std::move(row));
    return found.size() < kAtOnce || ShowWhole(found, visit);
  };
  const bool adds_bodies = whole && ordered;  // it sorts without them
  sql::Search(filter, PostgresqlDialect(filter), /*sorts=*/true, run,
              adds_bodies ? std::function<bool(QueryRow&&)>(collect) : visit);
  ShowWhole(found, visit);
}

bool Scan::ShowWhole(std::vector<QueryRow>& rows, const std::function<bool(QueryRow&&)>& visit) {
  if (rows.empty()) return true;
  for (const QueryRow& row : rows) {
    Parameters parameters;
    AddKey(parameters, row.key);
    connection_.Send(collection_.read, parameters);
  }
  const std::vector<Result> results = connection_.Run(deadline_);
  std::vector<QueryRow> whole = std::exchange(rows, {});
  const std::size_t first = results.size() - whole.size();  // behind what was queued before
  for (std::size_t i = 0; i < whole.size(); ++i) {
    FoundRow found = ReadRow(results[first + i], 0);
    if (found.key != whole[i].key) RefuseAnswer("a row of another key");
    whole[i].body = std::move(found.entry.body);
    if (!visit(std::move(whole[i]))) return false;
  }
  return true;
}

void Scan::ForEachRow(std::string_view body, const sql::Select& select, bool few,
                      const std::function<bool(FoundRow&&)>& visit) {
  constexpr std::int64_t kMostRows = 500;
  if (few) connection_.Command("SET LOCAL cursor_tuple_fraction = '0.0001'");
  connection_.Command("DECLARE doclock_rows NO SCROLL CURSOR FOR SELECT " +
                          std::string(kReadColumns).append(body) + " FROM " + collection_.table() +
                          " WHERE " + select.where +
                          (select.order.empty() ? "" : " ORDER BY " + select.order),
                      ParametersOf(select.values));
  if (few) connection_.Command("SET LOCAL cursor_tuple_fraction TO DEFAULT");
  bool more = true;
  for (std::int64_t rows = 16; more;) {
    const Result result =
        connection_.Ask("FETCH " + std::to_string(rows) + " FROM doclock_rows", {}, deadline_);
    bool wanted = true;
    std::size_t bytes = 0;
    for (int row = 0; wanted && row < result.size(); ++row) {
      FoundRow found = ReadRow(result, row);
      bytes += found.entry.body.size_hint();
      wanted = visit(std::move(found));
    }
    more = wanted && result.size() == rows;
    rows = bytes > kPageBytes       ? std::max<std::int64_t>(rows / 4, 1)
           : bytes < kPageBytes / 4 ? std::min(rows * 2, kMostRows)
                                    : rows;
  }
  connection_.Command("CLOSE doclock_rows");
}

}  // namespace doclock::postgresql
