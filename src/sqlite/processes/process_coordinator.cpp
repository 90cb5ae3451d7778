#include "sqlite/processes/process_coordinator.h"

namespace doclock::sqlite {

std::uint64_t TagOf(const std::string& collection) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a: the same in every build
  for (const char c : collection) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  }
  return hash == kAnyCollection ? 0 : hash;
}

std::uint64_t AddressedTo(std::int64_t slot, std::uint64_t collection) noexcept {
  if (slot == 0) return collection;
  return collection ^ (static_cast<std::uint64_t>(slot) * 0x9E3779B97F4A7C15U);
}

}  // namespace doclock::sqlite
