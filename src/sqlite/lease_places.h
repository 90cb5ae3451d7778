#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "doclock/uuid.h"

namespace doclock::sqlite {

/// Where the rows of locks that this store renewed stand, so that the next renewal need not look
/// the key up. A hint: the lease's row says by the lock's id whether it is right.
class LeasePlaces {
 public:
  [[nodiscard]] std::optional<std::int64_t> Find(const Uuid& lock_id) const {
    const auto found = docs_.find(lock_id);
    if (found == docs_.end()) return std::nullopt;
    return found->second;
  }
  void Add(const Uuid& lock_id, std::int64_t doc) {
    // Locks that are never released here, only forgotten, would pile up.
    if (docs_.size() >= kMax) docs_.clear();
    docs_[lock_id] = doc;
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
  std::unordered_map<Uuid, std::int64_t, Hash> docs_;
};

}  // namespace doclock::sqlite
