#include <atomic>
#include <cstdlib>
#include <new>

#include "mongodb/support/random_bson.h"

namespace doclock::mongo_docs_test {
namespace {
std::atomic<std::size_t> allocations{0};
}  // namespace

std::size_t AllocationCount() noexcept { return allocations.load(std::memory_order_relaxed); }

void CountAllocation() noexcept { allocations.fetch_add(1, std::memory_order_relaxed); }

}  // namespace doclock::mongo_docs_test

void* operator new(std::size_t size) {
  doclock::mongo_docs_test::CountAllocation();
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
// The temporary buffer of std::stable_partition comes from here; a sanitizer's own would not be
// freed by ours.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  doclock::mongo_docs_test::CountAllocation();
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
