#include "allocation/json_destructor.h"

#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>

#include "allocation/failing_new.h"

namespace doclock::allocation_test {
namespace {

/// The functions that the present one was called by, innermost first.
struct Callers {
  std::array<std::uintptr_t, 200> functions{};
  std::size_t count = 0;

  Callers() noexcept { _Unwind_Backtrace(&Add, this); }
  static _Unwind_Reason_Code Add(_Unwind_Context* frame, void* self) noexcept {
    auto& callers = *static_cast<Callers*>(self);
    if (callers.count == callers.functions.size()) return _URC_END_OF_STACK;
    callers.functions[callers.count++] = _Unwind_GetRegionStart(frame);
    return _URC_NO_REASON;
  }
  [[nodiscard]] auto begin() const noexcept { return functions.begin(); }
  [[nodiscard]] auto end() const noexcept { return begin() + static_cast<std::ptrdiff_t>(count); }
};

std::uintptr_t destructor = 0;
bool learning = false;

__attribute__((noinline)) void Destroy(nlohmann::json* tree) { tree->~basic_json(); }

/// Destroys a tree, so that InJsonDestructor sees from where it asks for memory.
bool Learn() {
  union Place {
    Place() : tree{{"a", {{"b", 1}}}} {}
    ~Place() {}
    nlohmann::json tree;
  } place;
  learning = true;
  {
    const CodeUnderTest code;
    FailingNew::FailAt(1);
    Destroy(&place.tree);
    FailingNew::Disarm();
  }
  learning = false;
  return destructor != 0;
}

const bool kLearned = Learn();

}  // namespace

bool InJsonDestructor() noexcept {
  const Callers callers;
  if (!learning) {
    return kLearned && std::find(callers.begin(), callers.end(), destructor) != callers.end();
  }
  const auto destroy =
      std::find(callers.begin(), callers.end(), reinterpret_cast<std::uintptr_t>(&Destroy));
  if (destroy != callers.end()) destructor = *std::prev(destroy);
  return true;
}

}  // namespace doclock::allocation_test
