#include "postgresql/query/scan.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "document/json/row_filter.h"
#include "postgresql/tables/texts.h"

namespace doclock::postgresql {
namespace {

const nlohmann::json& ValueOf(const Filter& filter, const QueryRow& row) {
  return ValueAt(TreeOf(row.body), filter.order());
}

bool IsBefore(const Filter& filter, const Filter::Position& a, const QueryRow& b) {
  const int order = CompareInOrder(filter, a.value, ValueOf(filter, b));
  return order != 0 ? order < 0 : a.key < b.key;
}

/// Is the document one that the pass is to show? One that has no tree is, wherever it comes.
bool IsOf(const Pass& pass, const Filter& filter, const QueryRow& row) {
  if (filter.order().empty()) return true;
  const Rank rank = RankOf(ValueOf(filter, row));
  return (rank == pass.rank || rank == Rank::kNull) &&
         (!filter.after() || IsBefore(filter, *filter.after(), row));
}

/// Rows in the server's order. Those whose numbers it does not compare exactly are kept until all
/// that are equal as doubles have come.
class Sorted {
 public:
  Sorted(const Filter& filter, const std::function<bool(QueryRow&&)>& visit)
      : filter_(filter), visit_(visit) {}

  /// False: `visit` did not want more. (Likewise of End.)
  bool Show(QueryRow&& row) {
    const auto& value = ValueOf(filter_, row);
    const bool is_exact = !value.is_number() || IsExact(value);
    const bool has_room = kept_.size() < kPageRows && kept_bytes_ < kPageBytes;
    const bool same = !is_exact && value.get<double>() == kept_value_ && has_room;
    if (!same && !End()) return false;
    if (is_exact) return wanted_ = visit_(std::move(row));
    kept_value_ = value.get<double>();
    kept_bytes_ += row.body.size_hint();
    kept_.push_back(std::move(row));
    return true;
  }
  bool End() {
    std::ranges::sort(kept_, [&](const QueryRow& a, const QueryRow& b) {
      return IsBefore(filter_, {a.key, ValueOf(filter_, a)}, b);
    });
    kept_bytes_ = 0;
    for (QueryRow& row : std::exchange(kept_, {})) wanted_ = wanted_ && visit_(std::move(row));
    return wanted_;
  }

 private:
  const Filter& filter_;
  const std::function<bool(QueryRow&&)>& visit_;
  bool wanted_ = true;
  double kept_value_ = 0;
  std::size_t kept_bytes_ = 0;
  std::vector<QueryRow> kept_;
};

}  // namespace

void Scan::Run(const Filter& filter, bool whole, const Visit& visit) {
  constexpr std::size_t kAtOnce = 8;                          // bodies may be large
  const bool adds_bodies = whole && !filter.order().empty();  // it sorts without them
  std::int64_t shown = 0;
  std::vector<QueryRow> found;
  const auto show = [&](QueryRow&& row) {
    const bool last = ++shown == filter.limit();
    if (!adds_bodies) return visit(std::move(row)) && !last;
    found.push_back(std::move(row));
    return (found.size() < kAtOnce || ShowWhole(found, visit)) && !last;
  };
  for (const Pass& pass : PassesOf(filter)) {
    if (!RunPass(filter, pass, show)) break;
  }
  ShowWhole(found, visit);
}

bool Scan::RunPass(const Filter& filter, const Pass& pass, const Visit& visit) {
  constexpr std::int64_t kFew = 16;
  const std::string body = filter.order().empty() ? std::string(kWholeBody) : MembersFor(filter);
  const auto scan = [&](const Visit& show) {
    const bool few = !filter.order().empty() && filter.limit() > 0 && filter.limit() <= kFew;
    ForEachRow(body, pass.where, {pass.order, few}, [&](FoundRow&& found) {
      const rules::LockState& lock = found.entry.lock;
      // A malformed lock may be held; it is not free.
      const bool locked = found.malformed || lock.IsLive(now_);
      QueryRow row{std::move(found.key), std::move(found.entry.body), lock.version, lock.born,
                   locked};
      const bool meets = StateMatches(filter, locked) && Matches(filter, row.key, row.body) &&
                         IsOf(pass, filter, row);
      return !meets || show(std::move(row));
    });
  };
  if (!pass.order.empty()) {
    Sorted sorted(filter, visit);
    scan([&](QueryRow&& row) { return sorted.Show(std::move(row)); });
    return sorted.End();
  }
  bool wanted = true;
  const auto show_all = [&](FirstRows& rows) {
    scan([&](QueryRow&& row) {
      rows.Show(std::move(row));
      return true;
    });
  };
  VisitInOrder(filter, kPageRows, show_all,
               [&](QueryRow&& row) { return wanted = visit(std::move(row)); });
  return wanted;
}

bool Scan::ShowWhole(std::vector<QueryRow>& rows, const Visit& visit) {
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

void Scan::ForEachRow(std::string_view body, const Where& where, const Order& order,
                      const std::function<bool(FoundRow&&)>& visit) {
  constexpr std::int64_t kMostRows = 500;
  if (order.few) connection_.Command("SET LOCAL cursor_tuple_fraction = '0.0001'");
  connection_.Command("DECLARE doclock_rows NO SCROLL CURSOR FOR SELECT " +
                          std::string(kReadColumns).append(body) + " FROM " + collection_.table() +
                          " WHERE " + where.sql + (order.by.empty() ? "" : " ORDER BY " + order.by),
                      where.parameters);
  if (order.few) connection_.Command("SET LOCAL cursor_tuple_fraction TO DEFAULT");
  bool more = true;
  for (std::int64_t rows = 16; more;) {
    connection_.SendOnce("FETCH " + std::to_string(rows) + " FROM doclock_rows");
    const Result result = std::move(connection_.Run(deadline_).back());
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
