#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "doclock/uuid.h"

namespace doclock::sqlite {

/// The row ids of locks that this store renewed, so that the next renewal does not look up the key.
/// It is a hint: the statement checks it by the lock's id in the lease's row.
class RenewalRowCache {
 public:
  /// `key_hash`: of the document the renewal names, which must be the one the lock was seen on.
  [[nodiscard]] std::optional<std::int64_t> Find(const Uuid& lock_id, std::size_t key_hash) const {
    const auto found = docs_.find(lock_id);
    if (found == docs_.end() || found->second.key_hash != key_hash) return std::nullopt;
    return found->second.doc;
  }
  void Add(const Uuid& lock_id, std::size_t key_hash, std::int64_t doc) {
    // Locks that are never released here would accumulate.
    if (docs_.size() >= kMax) docs_.clear();
    docs_[lock_id] = {key_hash, doc};
  }
  void Remove(const Uuid& lock_id) noexcept { docs_.erase(lock_id); }
  void Clear() noexcept { docs_.clear(); }

 private:
  static constexpr std::size_t kMax = 1'000'000;
  struct Hash {
    std::size_t operator()(const Uuid& id) const noexcept {
      std::size_t bits = 0;
      std::memcpy(&bits, &id, sizeof bits);  // ids are random
      return bits;
    }
  };
  struct Row {
    std::size_t key_hash = 0;
    std::int64_t doc = 0;
  };
  std::unordered_map<Uuid, Row, Hash> docs_;
};

}  // namespace doclock::sqlite
