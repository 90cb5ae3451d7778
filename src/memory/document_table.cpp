#include "memory/document_table.h"

#include <utility>

namespace doclock::memory {
namespace {

constexpr std::size_t kFirstSlots = 8;

}  // namespace

void DocumentTable::Reserve() {
  // At most three slots of four are used: runs stay short.
  if ((size_ + 1) * 4 <= slots_.size() * 3) return;
  std::vector<Slot> former(slots_.empty() ? kFirstSlots : slots_.size() * 2);
  former.swap(slots_);
  size_ = 0;
  for (Slot& slot : former) {
    if (slot.document) Insert(slot.mixed, std::move(slot.document));
  }
}

void DocumentTable::Insert(std::uint64_t mixed, std::unique_ptr<Document> document) noexcept {
  std::size_t i = mixed & Mask();
  while (slots_[i].document) i = (i + 1) & Mask();
  slots_[i].mixed = mixed;
  slots_[i].document = std::move(document);
  ++size_;
}

std::unique_ptr<Document> DocumentTable::Take(std::uint64_t mixed,
                                              const Document& document) noexcept {
  std::size_t i = mixed & Mask();
  while (slots_[i].document.get() != &document) i = (i + 1) & Mask();
  std::unique_ptr<Document> taken = std::move(slots_[i].document);
  --size_;
  CloseGap(i);
  return taken;
}

void DocumentTable::CloseGap(std::size_t hole) noexcept {
  for (std::size_t i = (hole + 1) & Mask(); slots_[i].document; i = (i + 1) & Mask()) {
    const std::size_t home = slots_[i].mixed & Mask();
    // How far the slot is from its home, and from the hole: it may move if the hole is nearer.
    if (((i - home) & Mask()) < ((i - hole) & Mask())) continue;
    slots_[hole] = std::move(slots_[i]);
    hole = i;
  }
}

}  // namespace doclock::memory
