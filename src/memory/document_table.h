#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "doclock/key.h"
#include "memory/document.h"

namespace doclock::memory {

/// Spreads a key's hash over all bits, without collisions: the shard is chosen by the upper bits,
/// the slot by the lower ones, and the hash of an integer may be the integer.
inline std::uint64_t MixHash(std::size_t hash) noexcept {
  std::uint64_t bits = hash;
  bits = (bits ^ (bits >> 32)) * 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 29)) * 0xBF58476D1CE4E5B9U;
  return bits ^ (bits >> 32);
}

/// Documents by key: open addressing with linear probing over (hash, pointer), so that a search
/// touches one cache line of the table and then the document. Not thread-safe.
class DocumentTable {
 public:
  /// The document with this key, or null. `mixed` is MixHash of the key's hash.
  [[nodiscard]] Document* Find(std::uint64_t mixed, const Key& key) const noexcept {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = mixed & Mask();; i = (i + 1) & Mask()) {
      const Slot& slot = slots_[i];
      if (!slot.document) return nullptr;
      if (slot.mixed == mixed && slot.document->key == key) return slot.document.get();
    }
  }

  /// Makes room for one more, so that the next Insert cannot fail.
  void Reserve();
  /// Adds a document whose key is not in the table. After Reserve it does not throw.
  void Insert(std::uint64_t mixed, std::unique_ptr<Document> document) noexcept;
  /// Takes out a document that is in the table.
  std::unique_ptr<Document> Take(std::uint64_t mixed, const Document& document) noexcept;

  /// Calls f(Document&) for each.
  template <class F>
  void ForEach(F&& f) const {
    for (const Slot& slot : slots_) {
      if (slot.document) f(*slot.document);
    }
  }

 private:
  struct Slot {
    std::uint64_t mixed = 0;
    std::unique_ptr<Document> document;
  };

  [[nodiscard]] std::size_t Mask() const noexcept { return slots_.size() - 1; }
  /// Fills the hole at `hole` with later slots of its run that would not be found behind it.
  void CloseGap(std::size_t hole) noexcept;

  std::vector<Slot> slots_;  // a power of two of them, or none
  std::size_t size_ = 0;
};

}  // namespace doclock::memory
