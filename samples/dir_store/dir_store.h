#pragma once

#include <doclock/open_store.h>
#include <doclock/store/record_store.h>

#include <chrono>
#include <filesystem>
#include <memory>

/// Keeps documents as JSON files: one folder per collection, one file per document, one file that
/// all processes lock in turn.
///
/// It shows how little a store has to bring when doclock::StoreOver brings the locks.
class DirStore final : public doclock::RecordStore {
 public:
  /// @param mode kExisting: a collection that is missing is a NotFoundException.
  /// @param clock for tests; null: the machine's.
  explicit DirStore(std::filesystem::path root,
                    doclock::OpenMode mode = doclock::OpenMode::kAsTheUrlSays,
                    std::shared_ptr<const doclock::Clock> clock = nullptr);

  std::unique_ptr<Transaction> Begin(Access access, std::chrono::milliseconds budget) override;
  void Create(const std::string& collection) override;

 private:
  const std::filesystem::path root_;
  const doclock::OpenMode mode_;
  const std::shared_ptr<const doclock::Clock> clock_;
};
