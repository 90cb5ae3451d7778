#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace doclock::sqlite {

/// The name of a collection's table of documents begins so.
inline constexpr std::string_view kDocumentsPrefix = "doclock_c_";

/// A name between double quotes, for any statement.
std::string Quoted(std::string_view name);

/// SQLite takes "Orders" and "orders" for the same table; collections differ. Upper-case letters
/// become "^" and the lower-case one, so that names stay readable.
std::string CaseSafe(std::string_view name);

/// Undoes CaseSafe.
std::string OriginalCase(std::string_view safe);

/// The names of one collection's tables.
class TableNames {
 public:
  /// @param number of the collection within its store, from 0.
  TableNames(std::string_view collection, std::size_t number);

  /// Bare name of the table of documents.
  [[nodiscard]] const std::string& documents() const noexcept { return documents_; }
  /// Quoted.
  [[nodiscard]] const std::string& quoted_documents() const noexcept { return quoted_documents_; }
  /// The table of renewed leases, quoted.
  [[nodiscard]] const std::string& quoted_leases() const noexcept { return quoted_leases_; }
  /// Bare name of the table of groups.
  [[nodiscard]] const std::string& groups() const noexcept { return groups_; }
  /// Quoted.
  [[nodiscard]] const std::string& quoted_groups() const noexcept { return quoted_groups_; }
  /// Bare name of the table of shares.
  [[nodiscard]] const std::string& shares() const noexcept { return shares_; }
  /// Quoted.
  [[nodiscard]] const std::string& quoted_shares() const noexcept { return quoted_shares_; }
  /// Bare name of the index of those shares that this library never writes. A colon, which no
  /// collection's name has, keeps it apart from all tables.
  [[nodiscard]] const std::string& malformed_shares() const noexcept { return malformed_shares_; }
  /// Bare name of the table of waiters.
  [[nodiscard]] const std::string& queue() const noexcept { return queue_; }
  /// Quoted.
  [[nodiscard]] const std::string& quoted_queue() const noexcept { return quoted_queue_; }
  [[nodiscard]] std::size_t number() const noexcept { return number_; }

 private:
  std::string documents_, quoted_documents_, quoted_leases_, groups_, quoted_groups_;
  std::string shares_, quoted_shares_, malformed_shares_;
  std::string queue_, quoted_queue_;
  std::size_t number_;
};

}  // namespace doclock::sqlite
