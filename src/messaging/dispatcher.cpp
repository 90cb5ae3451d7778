#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "doclock/classify.h"
#include "doclock/outbox.h"
#include "messaging/dispatch_options.h"

namespace doclock {
namespace {

/// The longest wait of one search, in which a message wakes it that is added or falls due. Then it
/// looks for those behind another one, because a process may have died that should have woken them.
constexpr auto kSearch = std::chrono::seconds(5);
/// The pause after a failure of the store.
constexpr auto kPause = std::chrono::seconds(1);

void Pause(const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, kPause, [] { return false; });
}

void Require(bool good, const char* what) {
  if (!good) throw std::invalid_argument(std::string("DispatchOptions::") + what);
}

}  // namespace

void detail::Check(const DispatchOptions& options) {
  Require(options.threads >= 1 && options.threads <= 64, "threads must be 1 to 64");
  Require(options.max_attempts >= 1, "max_attempts must be at least 1");
  Require(options.retry_min >= Duration(), "retry_min must not be negative");
  Require(options.retry_max >= options.retry_min, "retry_max must be at least retry_min");
  Require(options.retry_max <= std::chrono::days(365), "retry_max must be at most a year");
}

struct Dispatcher::Threads {
  Threads(Outbox of, SendMessage sender, DispatchOptions how)
      : outbox(std::move(of)), send(std::move(sender)), options(std::move(how)) {}
  ~Threads() { Stop(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Not the constructor: if a thread cannot start, the destructor stops those that have.
  void Start() {
    for (int i = 0; i < options.threads; ++i) {
      threads.emplace_back([this](const std::stop_token& stop) { Run(stop); });
    }
  }

  void Run(const std::stop_token& stop) const noexcept {
    while (!stop.stop_requested()) {
      try {
        outbox.SendNext(send, options, kSearch, stop);
      } catch (...) {
        const auto error = std::current_exception();
        if (Classify(error) == Disposition::kStop) return;
        if (options.on_error) options.on_error(error);
        Pause(stop);
      }
    }
  }

  /// Asks all before it waits for one: the others would go on sending meanwhile.
  void Stop() noexcept {
    for (std::jthread& thread : threads) thread.request_stop();
    threads.clear();
  }

  const Outbox outbox;
  const SendMessage send;
  const DispatchOptions options;
  std::vector<std::jthread> threads;  ///< They use all of the above.
};

Dispatcher::Dispatcher(std::unique_ptr<Threads> threads) noexcept : threads_(std::move(threads)) {}
Dispatcher::Dispatcher(Dispatcher&&) noexcept = default;
Dispatcher& Dispatcher::operator=(Dispatcher&&) noexcept = default;
Dispatcher::~Dispatcher() = default;

void Dispatcher::Stop() noexcept {
  if (threads_) threads_->Stop();
}

Dispatcher Outbox::Dispatch(SendMessage send, DispatchOptions options) const {
  if (!send) throw std::invalid_argument("doclock: Outbox::Dispatch needs a function that sends");
  detail::Check(options);
  auto threads = std::make_unique<Dispatcher::Threads>(*this, std::move(send), std::move(options));
  threads->Start();
  return Dispatcher(std::move(threads));
}

}  // namespace doclock
