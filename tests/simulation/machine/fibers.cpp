#include "simulation/machine/fibers.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define DOCLOCK_SIMULATION_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DOCLOCK_SIMULATION_ASAN 1
#endif
#endif
#ifdef DOCLOCK_SIMULATION_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace doclock::simulation {
namespace fibers {

constexpr std::size_t kStackBytes = std::size_t{1} << 20U;

/// What the C++ runtime keeps per thread of exceptions under way. Each stack needs its own.
struct ExceptionState {
  void* caught = nullptr;
  unsigned int uncaught = 0;

  static ExceptionState& OfThread() {
    return *reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
  }
};

/// One of the places between which the thread switches.
struct Place {
  ucontext_t context{};
  ExceptionState exceptions;
  const void* stack = nullptr;
  std::size_t stack_bytes = 0;
};

/// Leaves `from` for `to`. `from_ends`: it is never entered again.
inline void Switch(Place& from, Place& to) {
  from.exceptions = std::exchange(ExceptionState::OfThread(), to.exceptions);
#ifdef DOCLOCK_SIMULATION_ASAN
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, to.stack, to.stack_bytes);
#endif
  swapcontext(&from.context, &to.context);
#ifdef DOCLOCK_SIMULATION_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

/// The thread's own stack.
inline Place& Home() {
  static thread_local Place home;
  return home;
}

}  // namespace fibers

class Fiber {
 public:
  explicit Fiber(Fibers& of) : fibers_(of) {
    stack_ = ::mmap(nullptr, fibers::kStackBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack_ == MAP_FAILED) throw std::bad_alloc();
    place.stack = stack_;
    place.stack_bytes = fibers::kStackBytes;
    getcontext(&place.context);
    place.context.uc_stack.ss_sp = stack_;
    place.context.uc_stack.ss_size = fibers::kStackBytes;
    place.context.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&place.context, reinterpret_cast<void (*)()>(&Fiber::Enter), 2,
                static_cast<unsigned>(self >> 32U), static_cast<unsigned>(self & 0xffffffffU));
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() { ::munmap(stack_, fibers::kStackBytes); }

  fibers::Place place;
  std::function<void()> task;

 private:
  static void Enter(unsigned high, unsigned low) {
#ifdef DOCLOCK_SIMULATION_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &fibers::Home().stack, &fibers::Home().stack_bytes);
#endif
    const auto self = (static_cast<std::uintptr_t>(high) << 32U) | low;
    reinterpret_cast<Fiber*>(self)->Loop();
  }
  [[noreturn]] void Loop() {
    for (;;) {
      task();
      task = nullptr;
      --fibers_.running_;
      fibers_.idle_.push_back(this);
      fibers::Switch(place, fibers::Home());
    }
  }

  Fibers& fibers_;
  void* stack_;
};

Fibers::Fibers() = default;
Fibers::~Fibers() = default;

void Fibers::Start(std::function<void()> task) {
  if (idle_.empty()) {
    all_.push_back(std::make_unique<Fiber>(*this));
    idle_.push_back(all_.back().get());
  }
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  fiber.task = std::move(task);
  ++running_;
  SwitchTo(fiber);
}

void Fibers::Resume(Fiber& fiber) { SwitchTo(fiber); }

void Fibers::SwitchTo(Fiber& fiber) {
  if (current_ != nullptr) std::abort();  // a fiber starts no other
  current_ = &fiber;
  fibers::Switch(fibers::Home(), fiber.place);
  current_ = nullptr;
}

void Fibers::Suspend() {
  if (current_ == nullptr) std::abort();  // this stack must not stop
  fibers::Switch(current_->place, fibers::Home());
}

}  // namespace doclock::simulation
