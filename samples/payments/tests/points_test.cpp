// A worker is killed, or stopped while its leases end, before each of its calls of the store. Each
// message takes effect once all the same.
//
// On a file, or on the store that SAMPLE_PAYMENTS_STORE names, whose database has to be empty.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "../audit.h"
#include "doclock/open_store.h"
#include "doclock/testing/faulty_store.h"

namespace {

using namespace std::chrono_literals;
using Budget = std::chrono::milliseconds;
using Lines = std::vector<std::string>;

/// Sends this process a signal before one of its calls. No other call is under way then: one that
/// is stopped in the middle would keep others out of the database.
class EndingStore final : public doclock::testing::FaultyStore {
 public:
  EndingStore(std::shared_ptr<doclock::Store> inner, int signal, int call)
      : FaultyStore(std::move(inner)), signal_(signal), calls_left_(call) {}

  void Execute(std::span<doclock::StoreOp* const> ops, Budget budget) override {
    const auto alone = Begin();
    FaultyStore::Execute(ops, budget);
  }
  void Commit(doclock::CommitOp& commit, Budget budget) override {
    const auto alone = Begin();
    FaultyStore::Commit(commit, budget);
  }
  void ReadTogether(std::span<doclock::StoreOp* const> reads, Budget budget) override {
    const auto alone = Begin();
    FaultyStore::ReadTogether(reads, budget);
  }
  void Query(doclock::Collection& collection, const doclock::Filter& filter,
             const std::function<bool(doclock::QueryRow&&)>& sink, Budget budget) override {
    const auto alone = Begin();
    FaultyStore::Query(collection, filter, sink, budget);
  }
  void AcquireNext(const doclock::Filter& filter, doclock::AcquireOp& op, doclock::Key& key,
                   Budget budget) override {
    const auto alone = Begin();
    FaultyStore::AcquireNext(filter, op, key, budget);
  }

 private:
  std::unique_lock<std::mutex> Begin() {
    std::unique_lock alone(mutex_);
    if (--calls_left_ == 0) std::raise(signal_);
    return alone;
  }

  const int signal_;
  std::mutex mutex_;
  int calls_left_;
};

void Work(const Service& service, const Lines& lines) {
  const doclock::Dispatcher dispatcher = service.Dispatch();
  for (const std::string& line : lines) service.Consume(line);
  while (service.outbox.Status().pending > 0) std::this_thread::sleep_for(1ms);
}

/// Ends the leases of all others, as time would.
void EndLeases(doclock::Store& store) {
  for (const char* name : {"accounts", "orders", "inbox", "outbox", "received", "dead_letters"}) {
    const auto collection = store.Find(name);
    for (const doclock::LockRow& row : store.ListLocks(*collection, {}, {}, 10s).rows) {
      if (row.live) doclock::testing::ExpireLock(store, name, row.key);
    }
  }
}

/// Runs it in a process of its own. This one opens no store before all of them have begun.
pid_t Start(const std::function<void()>& run) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int status = 0;
  try {
    run();
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    status = 1;
  }
  ::_exit(status);
}

/// Waits until it has ended, or stopped.
int Await(pid_t child) {
  int status = -1;
  ::waitpid(child, &status, WUNTRACED);
  return status;
}

bool Succeeded(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

class PaymentsAtEveryPoint : public ::testing::Test {
 protected:
  PaymentsAtEveryPoint() { std::filesystem::create_directories(folder_); }
  ~PaymentsAtEveryPoint() override { std::filesystem::remove_all(folder_); }
  PaymentsAtEveryPoint(const PaymentsAtEveryPoint&) = delete;
  PaymentsAtEveryPoint& operator=(const PaymentsAtEveryPoint&) = delete;

  [[nodiscard]] std::shared_ptr<doclock::Store> Open() const {
    const char* const url = std::getenv("SAMPLE_PAYMENTS_STORE");
    return doclock::OpenStore(url != nullptr ? url
                                             : "sqlite:" + (folder_ / "db").string() + "?sync=off");
  }
  /// A payment, or one that is rejected, and a message that is no payment.
  Lines NextMessages() {
    const std::string number = std::to_string(messages_.size());
    const std::int64_t amount = messages_.size() % 4 == 0 ? 1'000'000'000 : 1;
    const Payment payment{"payment-" + number, "order-1", "account-0", "account-1", amount};
    Lines lines{nlohmann::json(payment).dump(), "broken " + number};
    messages_.insert(messages_.end(), lines.begin(), lines.end());
    return lines;
  }
  /// One worker gets a signal before its call of this number, another one ends what it has begun.
  /// Returns whether it made so many calls.
  bool Signal(int signal, int call) {
    const Lines lines = NextMessages();
    const pid_t worker = Start([&] {
      Work(Service(doclock::LockManager(std::make_shared<EndingStore>(Open(), signal, call))),
           lines);
    });
    const int status = Await(worker);
    if (WIFEXITED(status)) {
      EXPECT_TRUE(Succeeded(status));
      return false;
    }
    EXPECT_EQ(WIFSTOPPED(status) ? WSTOPSIG(status) : WTERMSIG(status), signal);
    EXPECT_TRUE(Succeeded(Await(Start([&] {
      const auto store = Open();
      const Service service{doclock::LockManager(store)};
      EndLeases(*store);
      Work(service, lines);
    }))));
    if (!WIFSTOPPED(status)) return true;
    ::kill(worker, SIGCONT);
    EXPECT_TRUE(Succeeded(Await(worker)));
    return true;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("payments-points-" + std::to_string(::getpid()));
  Lines messages_;
};

TEST_F(PaymentsAtEveryPoint, EachMessageTakesEffectOnce) {
  ASSERT_TRUE(Succeeded(
      Await(Start([&] { ::SetUp(Service(doclock::LockManager(Open())), "/dev/null"); }))));
  for (const int signal : {SIGKILL, SIGSTOP}) {
    int points = 0;
    while (Signal(signal, points + 1)) ++points;
    EXPECT_GT(points, 10);
  }
  EXPECT_TRUE(Audit(Service(doclock::LockManager(Open())), messages_));
}

}  // namespace
