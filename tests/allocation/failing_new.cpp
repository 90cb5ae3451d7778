#include "allocation/failing_new.h"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

#include "allocation/json_destructor.h"

namespace doclock::allocation_test {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::atomic<std::int64_t> allocations{0};
std::atomic<std::int64_t> first_failing{kNever};
std::atomic<std::int64_t> last_failing{kNever};
thread_local bool under_test = false;

void* Allocate(std::size_t size) {
  if (under_test) {
    const std::int64_t number = allocations.fetch_add(1) + 1;
    if (number >= first_failing && number <= last_failing && !InJsonDestructor()) {
      throw std::bad_alloc();
    }
  }
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void FailingNew::FailAt(std::int64_t n, std::int64_t more) noexcept {
  allocations = 0;
  first_failing = n;
  last_failing = more > kNever - n ? kNever : n + more;
}

void FailingNew::Disarm() noexcept { last_failing = 0; }

bool FailingNew::failed() noexcept { return allocations >= first_failing; }

CodeUnderTest::CodeUnderTest(bool now) noexcept : before_(under_test) { under_test = now; }

CodeUnderTest::~CodeUnderTest() { under_test = before_; }

}  // namespace doclock::allocation_test

/// AddressSanitizer asks for it. A constructor of nlohmann::json that fails half-way leaks its
/// object.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

void* operator new(std::size_t size) { return doclock::allocation_test::Allocate(size); }
/// AddressSanitizer has one of its own, whose memory may not go to std::free.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return doclock::allocation_test::Allocate(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
