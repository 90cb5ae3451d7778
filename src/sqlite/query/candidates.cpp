#include "sqlite/query/candidates.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "document/json/row_filter.h"
#include "sqlite/query/field_sql.h"
#include "sqlite/query/passes.h"

namespace doclock::sqlite {
namespace {

bool HasIndexOn(Connection& connection, const SqliteCollection& collection,
                const std::string& field) {
  const Running find(connection.Prepared(
      "SELECT 1 FROM sqlite_master WHERE type='index' AND tbl_name=?1 AND instr(sql, ?2)"));
  find->Bind(1, std::string_view(collection.tables().documents()));
  find->Bind(2, std::string_view(field));
  return find->Step();
}

/// SQLite's order of keys.
bool StandsBefore(const Key& a, const Key& b) noexcept {
  static constexpr std::array kPlaces{1, 0, 2, 2};  // text, integer, UUID, ObjectId
  const int first = kPlaces.at(a.value().index()), second = kPlaces.at(b.value().index());
  if (first != second) return first < second;
  if (a.value().index() == b.value().index()) return a < b;
  const auto bytes = [](const Key& key) {
    std::vector<std::uint8_t> all;
    if (const auto* uuid = std::get_if<Uuid>(&key.value())) all.assign(uuid->begin(), uuid->end());
    if (const auto* id = std::get_if<ObjectId>(&key.value())) {
      all.assign(id->bytes.begin(), id->bytes.end());
    }
    return all;
  };
  return bytes(a) < bytes(b);
}

/// Sorts documents whose order is not SQLite's, in the memory of a page: keeps those that come
/// first behind a position.
class FirstCandidates {
  static constexpr std::size_t kMost = 16'000;
  struct Kept {
    Filter::Position position;
    std::size_t bytes;
    Candidate candidate;
  };
  [[nodiscard]] bool IsBefore(const Filter::Position& a, const Filter::Position& b) const {
    const int order = CompareInOrder(filter_, a.value, b.value);
    return order != 0 ? order < 0 : StandsBefore(a.key, b.key);
  }
  [[nodiscard]] auto Order() const noexcept {
    return [this](const Kept& a, const Kept& b) { return IsBefore(a.position, b.position); };
  }

 public:
  FirstCandidates(const Filter& filter, std::optional<Filter::Position> after)
      : filter_(filter), after_(std::move(after)) {}

  void Show(Candidate&& candidate) {
    Filter::Position position = PositionOf(filter_, candidate.key, candidate.document.body);
    if (after_ && !IsBefore(*after_, position)) return;
    if (left_out_ && !IsBefore(position, kept_.front().position)) return;
    const std::size_t bytes = candidate.document.body.size_hint();
    bytes_ += bytes;
    kept_.push_back({std::move(position), bytes, std::move(candidate)});
    std::push_heap(kept_.begin(), kept_.end(), Order());
    while (kept_.size() > kMost || (bytes_ > kPageBytes && kept_.size() > 1)) {
      std::pop_heap(kept_.begin(), kept_.end(), Order());
      bytes_ -= kept_.back().bytes;
      kept_.pop_back();
      left_out_ = true;
    }
  }

  /// Passes them on, in order. False: `visit` returned false.
  bool Pass(const CandidateVisitor& visit) {
    std::sort_heap(kept_.begin(), kept_.end(), Order());
    if (left_out_) after_ = kept_.back().position;
    std::vector<Kept> sorted = std::exchange(kept_, {});
    return std::all_of(sorted.begin(), sorted.end(),
                       [&](Kept& kept) { return visit(std::move(kept.candidate)); });
  }

  /// Are there more than those kept?
  [[nodiscard]] bool left_out() const noexcept { return left_out_; }
  /// After Pass: begins again behind the last one.
  void GoOn() {
    left_out_ = false;
    bytes_ = 0;
  }

 private:
  const Filter& filter_;
  std::optional<Filter::Position> after_;
  std::vector<Kept> kept_;  // a heap, with the last one in front
  std::size_t bytes_ = 0;
  bool left_out_ = false;
};

/// A running query.
class Search {
 public:
  Search(Connection& connection, const SqliteCollection& collection, const Filter& filter)
      : connection_(connection),
        collection_(collection),
        filter_(filter),
        field_(filter.order().empty() ? std::nullopt : FieldSql(filter.order())),
        indexed_(field_ && HasIndexOn(connection, collection, *field_)) {
    for (const Filter::Condition& condition : filter.conditions()) {
      if (auto term = TermFor(condition)) terms_.push_back(std::move(*term));
    }
  }

  void Run(const CandidateVisitor& visit) {
    if (filter_.order().empty()) {
      RunPass(PassByKey(filter_), visit);
    } else if (!field_) {
      RunSorted(PassByKey(filter_), filter_.after(), visit);
    } else if (indexed_) {
      RunIndexed(visit);
    } else {
      RunSorting(visit);
    }
  }

  [[nodiscard]] std::vector<std::string> Texts() const {
    if (!field_) return {TextOf(PassByKey(filter_))};
    if (!indexed_) return {TextOf(SortingPass(filter_, *field_, true))};
    std::vector<std::string> texts;
    for (const Pass& pass : IndexedPasses(filter_, *field_)) texts.push_back(TextOf(pass));
    return texts;
  }

 private:
  void RunIndexed(const CandidateVisitor& visit) {
    for (const Pass& pass : IndexedPasses(filter_, *field_)) {
      const bool more =
          pass.rank == kRest ? RunSorted(pass, PositionInRest(), visit) : RunPass(pass, visit);
      if (!more) return;
    }
  }

  /// One scan, which meets documents of kRest last; first, if the order is descending.
  void RunSorting(const CandidateVisitor& visit) {
    FirstCandidates rest(filter_, PositionInRest());
    bool broke_off = false;
    const auto take = [&](Candidate&& candidate) {
      if (RankOf(ValueAt(TreeOf(candidate.document.body), filter_.order())) == kRest) {
        rest.Show(std::move(candidate));
        return true;
      }
      broke_off = rest.left_out();  // only one scan may be open
      return !broke_off && rest.Pass(visit) && visit(std::move(candidate));
    };
    const bool more = RunPass(SortingPass(filter_, *field_, true), take);
    if (!more && !broke_off) return;
    if (!PassAll(PassOfRest(*field_), rest, visit) || !broke_off) return;
    RunPass(SortingPass(filter_, *field_, false), visit);
  }

  bool RunSorted(const Pass& pass, std::optional<Filter::Position> after,
                 const CandidateVisitor& visit) {
    FirstCandidates found(filter_, std::move(after));
    ShowAll(pass, found);
    return PassAll(pass, found, visit);
  }

  /// Passes on what was found, and what was left out.
  bool PassAll(const Pass& pass, FirstCandidates& found, const CandidateVisitor& visit) {
    for (;;) {
      if (!found.Pass(visit)) return false;
      if (!found.left_out()) return true;
      found.GoOn();
      ShowAll(pass, found);
    }
  }

  void ShowAll(const Pass& pass, FirstCandidates& found) {
    RunPass(pass, [&](Candidate&& candidate) {
      found.Show(std::move(candidate));
      return true;
    });
  }

  [[nodiscard]] std::optional<Filter::Position> PositionInRest() const {
    const bool is_rest = filter_.after() && RankOf(filter_.after()->value) == kRest;
    return is_rest ? filter_.after() : std::nullopt;
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

  void BindAll(Statement& statement, const Pass& pass) const {
    int index = 0;
    const auto bind = [&](const std::vector<SqlValue>& values) {
      for (const SqlValue& value : values) {
        ++index;
        std::visit([&](const auto& v) { statement.Bind(index, v); }, value);
      }
    };
    for (const Term& term : terms_) bind(term.values);
    bind(pass.values);
  }

  bool RunPass(const Pass& pass, const CandidateVisitor& visit) {
    const Running row(connection_.PreparedForFilter(TextOf(pass)));
    BindAll(*row, pass);
    while (row->Step()) {
      std::optional<Candidate> candidate = ReadRow(*row);
      if (candidate && Meets(*candidate, pass.rank) && !visit(std::move(*candidate))) {
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

  [[nodiscard]] bool Meets(const Candidate& candidate, Rank rank) const {
    if (filter_.conditions().empty() && rank == kAnyRank) return true;
    const nlohmann::json& tree = TreeOf(candidate.document.body);
    if (rank != kAnyRank && RankOf(ValueAt(tree, filter_.order())) != rank) return false;
    return filter_.Matches(candidate.key, tree);
  }

  Connection& connection_;
  const SqliteCollection& collection_;
  const Filter& filter_;
  const std::optional<std::string> field_;  ///< Of the order; none: SQL cannot name it.
  const bool indexed_;
  std::vector<Term> terms_;
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
