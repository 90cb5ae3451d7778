#include "sqlite/query/candidates.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
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
  find->Bind(1, std::string_view(collection.documents()));
  find->Bind(2, std::string_view(field));
  return find->Step();
}

/// SQLite refuses an expression that is too deep. The filter itself decides, as of the others.
constexpr std::size_t kMaxTerms = 100;

/// The bytes of a UUID or an ObjectId.
std::span<const std::uint8_t> BytesOf(const Key& key) noexcept {
  if (const auto* uuid = std::get_if<Uuid>(&key.value())) return {uuid->begin(), uuid->end()};
  if (const auto* id = std::get_if<ObjectId>(&key.value())) return id->bytes;
  return {};
}

/// SQLite's order of keys.
bool StandsBefore(const Key& a, const Key& b) noexcept {
  static constexpr std::array kPlaces{1, 0, 2, 2};  // text, integer, UUID, ObjectId
  const int first = kPlaces.at(a.value().index()), second = kPlaces.at(b.value().index());
  if (first != second) return first < second;
  if (a.value().index() == b.value().index()) return a < b;
  const auto x = BytesOf(a), y = BytesOf(b);
  return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
}

/// A running query.
class Search {
 public:
  /// @param reader null: it only tells its texts
  Search(Connection& connection, LockReader* reader, const SqliteCollection& collection,
         const Filter& filter)
      : connection_(connection),
        reader_(reader),
        collection_(collection),
        filter_(filter),
        passes_(MakePasses()) {
    for (const Filter::Condition& condition : filter.conditions()) {
      if (terms_.size() == kMaxTerms) break;
      if (auto term = TermFor(condition)) terms_.push_back(std::move(*term));
    }
  }

  void Run(const CandidateVisitor& visit) {
    for (const Pass& pass : passes_) {
      const bool more = pass.order.empty() ? RunSorted(pass, visit) : RunPass(pass, visit);
      if (!more) return;
    }
  }

  [[nodiscard]] std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const Pass& pass : passes_) texts.push_back(TextOf(pass));
    return texts;
  }

 private:
  [[nodiscard]] std::vector<Pass> MakePasses() const {
    if (filter_.order().empty()) return {PassByKey(filter_)};
    const auto field = FieldSql(filter_.order());
    if (!field || !HasIndexOn(connection_, collection_, *field)) return {Pass()};
    return IndexedPasses(filter_, *field);
  }

  /// A search for any lock state shows every candidate, and so needs no more than its limit. Of
  /// those of one state it is unknown how many candidates have it.
  [[nodiscard]] std::size_t MostAtOnce() const noexcept {
    if (filter_.limit() == 0 || filter_.lock_state() != Filter::LockState::kAny) return kPageRows;
    return std::min(kPageRows, static_cast<std::size_t>(filter_.limit()));
  }

  bool RunSorted(const Pass& pass, const CandidateVisitor& visit) {
    std::optional<Filter::Position> after = filter_.after();
    const bool is_before = after && pass.rank != kAnyRank && RankOf(after->value) != pass.rank;
    if (is_before) after.reset();
    do {
      // What is kept of a document until it is shown: its body would take much memory.
      FirstInOrder<Key> found(filter_, std::move(after), MostAtOnce(), StandsBefore);
      RunPass(pass, [&](Candidate&& candidate) {
        Filter::Position position = PositionOf(filter_, candidate.key, candidate.document.body);
        if (!found.Admits(position)) return true;
        const std::size_t bytes = Body::FromJson(position.value).size_hint();
        found.Keep(std::move(position), bytes, std::move(candidate.key));
        return true;
      });
      const auto show = [&](Key&& key) {
        const auto document = reader_->Find(collection_, key, /*with_body=*/true);
        return !document || visit({std::move(key), std::move(*document)});
      };
      if (!found.Pass(show)) return false;
      after = found.rest();
    } while (after);
    return true;
  }

  [[nodiscard]] std::string TextOf(const Pass& pass) const {
    std::string text = "SELECT d.id, " + LockColumns("l.") + ", d.key, d.body FROM " +
                       collection_.tables() + " WHERE 1";
    if (filter_.lock_state() == Filter::LockState::kLocked) {
      text += " AND l.lock_id IS NOT NULL";
    }
    for (const Term& term : terms_) text += " AND " + term.sql;
    if (!pass.where.empty()) text += " AND " + pass.where;
    return pass.order.empty() ? text : text + " ORDER BY " + pass.order;
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
    constexpr int kKey = 1 + kLockColumnCount;
    auto key = row.KeyAt(kKey);
    if (!key) return std::nullopt;
    return Candidate{std::move(*key), reader_->Read(row, kKey + 1)};
  }

  [[nodiscard]] bool Meets(const Candidate& candidate, Rank rank) const {
    if (filter_.conditions().empty() && rank == kAnyRank) return true;
    const nlohmann::json& tree = TreeOf(candidate.document.body);
    if (rank != kAnyRank && RankOf(ValueAt(tree, filter_.order())) != rank) return false;
    return filter_.Matches(candidate.key, tree);
  }

  Connection& connection_;
  LockReader* const reader_;
  const SqliteCollection& collection_;
  const Filter& filter_;
  const std::vector<Pass> passes_;
  std::vector<Term> terms_;
};

}  // namespace

void VisitCandidates(Connection& connection, LockReader& reader, const SqliteCollection& collection,
                     const Filter& filter, const CandidateVisitor& visit) {
  Search(connection, &reader, collection, filter).Run(visit);
}

std::vector<std::string> CandidateSql(Connection& connection, const SqliteCollection& collection,
                                      const Filter& filter) {
  return Search(connection, nullptr, collection, filter).Texts();
}

}  // namespace doclock::sqlite
