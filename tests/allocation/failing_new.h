#pragma once

#include <cstdint>

namespace doclock::allocation_test {

/// Memory that runs out where a test says: operator new throws std::bad_alloc at the n-th
/// allocation of the code under test. Only a thread inside a CodeUnderTest counts and fails.
class FailingNew {
 public:
  /// Fails the n-th allocation from now on (the first is 1), and `more` that follow it.
  static void FailAt(std::int64_t n, std::int64_t more = 0) noexcept;
  static void Disarm() noexcept;
  /// Has an allocation failed since FailAt?
  [[nodiscard]] static bool failed() noexcept;
};

/// As long as one exists on a thread, and no TestsOwnCode was made after it, the thread's
/// allocations may fail.
class CodeUnderTest {
 public:
  explicit CodeUnderTest(bool under_test = true) noexcept;
  CodeUnderTest(const CodeUnderTest&) = delete;
  CodeUnderTest& operator=(const CodeUnderTest&) = delete;
  ~CodeUnderTest();

 private:
  const bool before_;
};

/// See CodeUnderTest.
class TestsOwnCode : CodeUnderTest {
 public:
  TestsOwnCode() noexcept : CodeUnderTest(false) {}
};

}  // namespace doclock::allocation_test
