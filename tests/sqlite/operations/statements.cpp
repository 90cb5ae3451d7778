#include "sqlite/operations/statements.h"

#include <sqlite3.h>

#include <mutex>
#include <stdexcept>
#include <utility>

namespace doclock::sqlite_test {
namespace {

std::mutex statements_mutex;
std::vector<std::string> statements;

/// "SELECT c" of a statement whose first table is doclock_c_things; empty if it has none.
std::string ShortText(const std::string& sql) {
  constexpr std::string_view kPrefix = "\"doclock_";
  const std::size_t table = sql.find(kPrefix);
  if (table == std::string::npos) return {};
  return sql.substr(0, sql.find(' ')) + " " + sql[table + kPrefix.size()];
}

int OnStatement(unsigned, void*, void* statement, void* text_of_it) {
  // Those of triggers come as comments.
  if (std::string_view(static_cast<const char*>(text_of_it)).starts_with("--")) return 0;
  const char* const sql = sqlite3_sql(static_cast<sqlite3_stmt*>(statement));
  std::string text = ShortText(sql != nullptr ? sql : "");
  const std::lock_guard guard(statements_mutex);
  if (!text.empty()) statements.push_back(std::move(text));
  return 0;
}

int Trace(sqlite3* database, char**, const sqlite3_api_routines*) {
  return sqlite3_trace_v2(database, SQLITE_TRACE_STMT, OnStatement, nullptr);
}

/// SQLite takes extensions for functions without parameters, and calls them with three.
void (*Extension())() { return reinterpret_cast<void (*)()>(&Trace); }

}  // namespace

Statements::Statements() {
  if (sqlite3_auto_extension(Extension()) != SQLITE_OK) throw std::runtime_error("no extension");
}

Statements::~Statements() {
  sqlite3_cancel_auto_extension(Extension());
  static_cast<void>(Take());
}

std::vector<std::string> Statements::Take() {
  const std::lock_guard guard(statements_mutex);
  return std::exchange(statements, {});
}

}  // namespace doclock::sqlite_test
