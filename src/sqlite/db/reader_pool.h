#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include "doclock/stores/sqlite.h"
#include "sqlite/db/connection.h"
#include "sqlite/db/deadline.h"
#include "sqlite/db/file_set.h"

namespace doclock::sqlite {

/// Connections that only read. They never wait for writers. Thread-safe.
class ReaderPool {
 public:
  /// A borrowed connection, inside a transaction: all its reads see one moment.
  class Loan {
   public:
    Loan(ReaderPool& pool, std::unique_ptr<Connection> connection);
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan();
    Connection& operator*() const noexcept { return *connection_; }
    Connection* operator->() const noexcept { return connection_.get(); }

   private:
    ReaderPool& pool_;
    std::unique_ptr<Connection> connection_;
  };

  ReaderPool(std::filesystem::path file, SqliteStoreOptions options, const FileSet& files)
      : file_(std::move(file)), options_(std::move(options)), files_(files) {
    idle_.reserve(kKept);  // so that giving back needs no memory
  }

  /// @throws DatabaseError
  Loan Take(Deadline deadline);

 private:
  /// How many idle connections are kept; others are closed after use.
  static constexpr std::size_t kKept = 8;

  void GiveBack(std::unique_ptr<Connection> connection) noexcept;

  std::filesystem::path file_;
  SqliteStoreOptions options_;
  const FileSet& files_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace doclock::sqlite
