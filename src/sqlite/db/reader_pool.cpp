#include "sqlite/db/reader_pool.h"

namespace doclock::sqlite {

ReaderPool::Loan::Loan(ReaderPool& pool, std::unique_ptr<Connection> connection)
    : pool_(pool), connection_(std::move(connection)) {
  const Running begin(connection_->Prepared("BEGIN"));
  begin->Step();
}

ReaderPool::Loan::~Loan() {
  try {
    {
      const Running end(connection_->Prepared("COMMIT"));
      end->Step();
    }
    pool_.GiveBack(std::move(connection_));
  } catch (...) {
    // Closed instead of kept.
  }
}

ReaderPool::Loan ReaderPool::Take(Deadline deadline) {
  files_.Check();  // before SQLite would make a file that is missing
  std::unique_ptr<Connection> connection;
  {
    const std::lock_guard guard(mutex_);
    if (!idle_.empty()) {
      connection = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!connection) {
    connection = Connect(file_, options_, /*create=*/false);
    connection->Run("PRAGMA query_only=1");
    files_.Check();
    connection->Accept();
  }
  connection->SetDeadline(deadline, deadline);
  return {*this, std::move(connection)};
}

void ReaderPool::GiveBack(std::unique_ptr<Connection> connection) noexcept {
  const std::lock_guard guard(mutex_);
  if (idle_.size() < kKept) idle_.push_back(std::move(connection));
}

}  // namespace doclock::sqlite
