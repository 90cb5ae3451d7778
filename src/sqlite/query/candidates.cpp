#include "sqlite/query/candidates.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "document/json/row_filter.h"
#include "sqlite/query/field_sql.h"

namespace doclock::sqlite {
namespace {

/// The order of types in Filter::OrderBy.
enum Rank : int { kAnyRank = -1, kNull, kNumber, kText, kBoolean, kRest };

Rank RankOf(const nlohmann::json& value) noexcept {
  if (value.is_null()) return kNull;
  if (value.is_number()) return kNumber;
  if (value.is_string()) return kText;
  if (value.is_boolean()) return kBoolean;
  return kRest;
}

/// One SELECT. If an index does the sorting, several of them, one after the other, give the
/// filter's order: SQLite orders values of one rank as the filter does, but orders the ranks
/// differently.
struct Pass {
  Rank rank = kAnyRank;  ///< Only documents whose field of the order is of this rank.
  std::string where;     ///< The SQL condition for that.
  std::string order;
};

std::string RankCondition(Rank rank, const std::string& field) {
  switch (rank) {
    case kNull:
      return field + " IS NULL";
    case kNumber:
      return field + " < ''";
    case kText:
      return field + " >= ''";
    case kBoolean:
      return field + " BETWEEN 0 AND 1";
    default:
      // JSON text of the other types begins with '[' or '{'.
      return field + " >= '[' AND " + field + " < '|'";
  }
}

/// The ranks that can meet the conditions on the field of the order; all if there are none.
std::vector<Rank> RanksFor(const Filter& filter) {
  for (const Filter::Condition& condition : filter.conditions()) {
    if (condition.path == filter.order() && condition.op != Filter::Op::kNotEqual) {
      return {RankOf(condition.value)};
    }
  }
  std::vector<Rank> all = {kNull, kNumber, kText, kBoolean, kRest};
  if (filter.descending()) std::reverse(all.begin(), all.end());
  return all;
}

bool HasIndexOn(Connection& connection, const SqliteCollection& collection,
                const std::string& field) {
  const Running find(connection.Prepared(
      "SELECT 1 FROM sqlite_master WHERE type='index' AND tbl_name=?1 AND instr(sql, ?2)"));
  find->Bind(1, std::string_view(collection.tables().documents()));
  find->Bind(2, std::string_view(field));
  return find->Step();
}

/// SQLite's own order, in which every index is: integers, texts, then UUIDs and ObjectIds together
/// by their bytes.
constexpr const char* kKeyOrder = "d.key";

std::vector<Pass> PassesInOrder(const Filter& filter, const std::string& field, bool indexed) {
  const std::string direction = filter.descending() ? " DESC, " : ", ";
  std::vector<Pass> passes;
  if (!indexed) {
    // One scan that sorts exactly, with the rank as its first key.
    std::string ranks = "CASE";
    for (const Rank rank : {kNull, kBoolean, kNumber, kRest, kText}) {
      std::string is = RankCondition(rank, field);
      if (rank == kBoolean) is += " AND " + *KindSql(filter.order());
      if (rank == kRest) is += " AND " + *KindSql(filter.order());
      ranks += " WHEN " + is + " THEN " + std::to_string(rank);
    }
    ranks += " END";
    const std::string value = "CASE WHEN " + ranks + " < 4 THEN " + field + " END";
    passes.push_back({kAnyRank, "", ranks + direction + value + direction + kKeyOrder});
    return passes;
  }
  for (const Rank rank : RanksFor(filter)) {
    const bool tied = rank == kNull || rank == kRest;
    passes.push_back(
        {rank, RankCondition(rank, field), tied ? kKeyOrder : field + direction + kKeyOrder});
  }
  return passes;
}

/// Sorts documents that are ordered by an object or an array, because dates and the like are text
/// to SQLite. All others pass through.
class Objects {
 public:
  Objects(const Filter& filter, const CandidateVisitor& visit) : filter_(filter), visit_(visit) {}

  bool Take(Candidate&& candidate) {
    if (filter_.order().empty()) return visit_(std::move(candidate));
    if (RankOf(ValueOf(candidate)) == kRest) {
      kept_.push_back(std::move(candidate));
      return true;
    }
    return Flush() && visit_(std::move(candidate));
  }

  bool Flush() {
    std::stable_sort(kept_.begin(), kept_.end(), [&](const Candidate& a, const Candidate& b) {
      const int order = CompareValues(ValueOf(a), ValueOf(b));
      return filter_.descending() ? order > 0 : order < 0;
    });
    std::vector<Candidate> sorted = std::exchange(kept_, {});
    return std::all_of(sorted.begin(), sorted.end(),
                       [&](Candidate& candidate) { return visit_(std::move(candidate)); });
  }

 private:
  [[nodiscard]] const nlohmann::json& ValueOf(const Candidate& candidate) const {
    return ValueAt(TreeOf(candidate.document.body), filter_.order());
  }

  const Filter& filter_;
  const CandidateVisitor& visit_;
  std::vector<Candidate> kept_;
};

/// A running query.
class Search {
 public:
  Search(Connection& connection, const SqliteCollection& collection, const Filter& filter)
      : connection_(connection), collection_(collection), filter_(filter) {
    MakePasses();
    for (const Filter::Condition& condition : filter.conditions()) {
      if (auto term = TermFor(condition)) terms_.push_back(std::move(*term));
    }
  }

  void Run(const CandidateVisitor& visit) {
    if (sorts_itself_) return RunSorted(visit);
    Objects objects(filter_, visit);
    for (const Pass& pass : passes_) {
      const bool more =
          RunPass(pass, [&](Candidate&& candidate) { return objects.Take(std::move(candidate)); });
      if (!more) return;
    }
    objects.Flush();
  }

  [[nodiscard]] std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const Pass& pass : passes_) texts.push_back(TextOf(pass));
    return texts;
  }

 private:
  void MakePasses() {
    if (filter_.order().empty()) {
      passes_.push_back({kAnyRank, "", kKeyOrder});
    } else if (const auto field = FieldSql(filter_.order())) {
      const bool indexed = HasIndexOn(connection_, collection_, *field);
      passes_ = PassesInOrder(filter_, *field, indexed);
    } else {
      passes_.push_back({kAnyRank, "", kKeyOrder});
      sorts_itself_ = true;
    }
  }

  [[nodiscard]] std::string TextOf(const Pass& pass) const {
    std::string text = std::string("SELECT ") + kStoredColumns + ", d.key, d.body FROM " +
                       StoredTables(collection_.tables()) + " WHERE 1";
    if (filter_.lock_state() == Filter::LockState::kLocked) {
      text += " AND d.lock_id <> zeroblob(16)";
    }
    for (const Term& term : terms_) text += " AND " + term.sql;
    if (!pass.where.empty()) text += " AND " + pass.where;
    return text + " ORDER BY " + pass.order;
  }

  void BindTerms(Statement& statement) const {
    int index = 0;
    for (const Term& term : terms_) {
      for (const SqlValue& value : term.values) {
        ++index;
        std::visit([&](const auto& v) { statement.Bind(index, v); }, value);
      }
    }
  }

  bool RunPass(const Pass& pass, const CandidateVisitor& visit) {
    const Running row(connection_.PreparedForFilter(TextOf(pass)));
    BindTerms(*row);
    while (row->Step()) {
      std::optional<Candidate> candidate = ReadRow(*row);
      if (candidate && Meets(candidate->document.body, pass.rank) &&
          !visit(std::move(*candidate))) {
        return false;
      }
    }
    return true;
  }

  /// Nothing for a row whose key this library did not write.
  [[nodiscard]] std::optional<Candidate> ReadRow(const Statement& row) const {
    auto key = row.KeyAt(kStoredColumnCount);
    if (!key) return std::nullopt;
    constexpr int kBody = kStoredColumnCount + 1;
    std::string text = row.IsText(kBody) ? std::string(row.Text(kBody)) : std::string();
    return Candidate{std::move(*key), StoredDocument{ReadStoredLock(row, collection_.default_ttl()),
                                                     Body::FromText(std::move(text))}};
  }

  [[nodiscard]] bool Meets(const Body& body, Rank rank) const {
    if (filter_.conditions().empty() && rank == kAnyRank) return true;
    const nlohmann::json& tree = TreeOf(body);
    if (rank != kAnyRank && RankOf(ValueAt(tree, filter_.order())) != rank) return false;
    return filter_.Matches(tree);
  }

  /// For a field that SQL cannot name.
  void RunSorted(const CandidateVisitor& visit) {
    std::vector<Candidate> all;
    RunPass(passes_.front(), [&](Candidate&& candidate) {
      all.push_back(std::move(candidate));
      return true;
    });
    const auto value = [&](const Candidate& candidate) -> const nlohmann::json& {
      return ValueAt(TreeOf(candidate.document.body), filter_.order());
    };
    std::stable_sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
      const int order = CompareValues(value(a), value(b));
      return filter_.descending() ? order > 0 : order < 0;
    });
    for (Candidate& candidate : all) {
      if (!visit(std::move(candidate))) return;
    }
  }

  Connection& connection_;
  const SqliteCollection& collection_;
  const Filter& filter_;
  std::vector<Pass> passes_;
  std::vector<Term> terms_;
  bool sorts_itself_ = false;
};

}  // namespace

void VisitCandidates(Connection& connection, const SqliteCollection& collection,
                     const Filter& filter, const CandidateVisitor& visit) {
  Search(connection, collection, filter).Run(visit);
}

std::vector<std::string> CandidateSql(Connection& connection, const SqliteCollection& collection,
                                      const Filter& filter) {
  return Search(connection, collection, filter).Texts();
}

}  // namespace doclock::sqlite
