#include "worker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

namespace doclock::peers {

using SteadyClock = std::chrono::steady_clock;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

/// How long a holder works between reading the counter and writing it, on a document that others
/// want.
constexpr auto kWork = 20us;

std::minstd_rand& Random() {
  thread_local std::minstd_rand random{std::random_device{"/dev/urandom"}()};
  return random;
}

std::int64_t NowNs() { return SteadyClock::now().time_since_epoch().count(); }

double MicrosecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count();
}

double SecondsSince(SteadyClock::time_point start) { return MicrosecondsSince(start) / 1e6; }

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Say(const json& line) {
  std::puts(line.dump().c_str());
  std::fflush(stdout);
}

/// A document's place in the page. `count` is protected by the document's lock alone.
struct alignas(64) Slot {
  volatile std::uint64_t count;
  std::atomic<std::int64_t> released_ns;  ///< when its last holder began to unlock
  std::atomic<int> holder;                ///< the process that held it last, from 1
};

Slot* MapPage(const char* path) {
  const int file = ::open(path, O_RDWR);
  const std::size_t bytes = sizeof(Slot) * kKeys;
  void* const page = file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0
                         ? MAP_FAILED
                         : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) throw std::runtime_error("the page cannot be mapped");
  ::close(file);
  return static_cast<Slot*>(page);
}

/// Reads the counter, works, and writes it back.
template <class WorkFn>
void Count(Slot& slot, WorkFn work) {
  const std::uint64_t before = slot.count;
  work();
  slot.count = before + 1;
}

void Spin() {
  const auto start = SteadyClock::now();
  while (SteadyClock::now() - start < kWork) {
  }
}

struct Task {
  std::string scenario;
  int first = 0;
  int callers = 1;
  std::chrono::duration<double> time{};
  Place place;
  Slot* page = nullptr;
};

/// What one caller saw.
struct Tally {
  std::int64_t cycles = 0;
  std::int64_t counted = 0;  ///< cycles that ended while the round was measured
  std::int64_t lost = 0;
  std::vector<std::int64_t> took_us;
  std::vector<std::int64_t> unfinished_us;  ///< cycles that the end of the round met
};

class Round {
 public:
  Round(Task task, Peer& peer) : task_(std::move(task)), peer_(peer) {
    for (int i = 0; i < task_.callers; ++i) callers_.push_back(peer_.NewCaller());
    tallies_.resize(callers_.size());
  }

  void Play() {
    if (task_.scenario == "own" || task_.scenario == "hot") return PlayCycles();
    if (task_.scenario == "turns") return PlayTurns();
    if (task_.scenario == "leases") return PlayLeases();
    if (task_.scenario == "hold") return PlayHold();
    if (task_.scenario == "take") return PlayTake();
    throw std::runtime_error("unknown scenario " + task_.scenario);
  }

 private:
  /// Runs `work(i)` for each caller on a thread of its own, until all of them return.
  template <class WorkFn>
  void Each(WorkFn work) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < task_.callers; ++i) {
      threads.emplace_back([&, i] { work(static_cast<std::size_t>(i)); });
    }
  }
  Slot& SlotOf(int key) { return task_.page[key]; }
  int OwnKey(std::size_t caller) const { return task_.first + static_cast<int>(caller); }

  /// Makes connections, and whatever else the first cycle makes.
  void WarmUp() {
    Each([&](std::size_t i) {
      callers_[i]->Lock(OwnKey(i), {});
      callers_[i]->Unlock(OwnKey(i));
    });
  }
  void Begin() {
    Say({{"ready", true}});
    if (std::getchar() == EOF) std::exit(1);
    timer_ = std::jthread([this](const std::stop_token& ended) {
      const auto end = SteadyClock::now() + task_.time;
      while (SteadyClock::now() < end && !ended.stop_requested()) std::this_thread::sleep_for(1ms);
      stop_.request_stop();
    });
  }

  void Cycle(std::size_t i, int key, bool work) {
    const auto start = SteadyClock::now();
    Tally& tally = tallies_[i];
    if (!callers_[i]->Lock(key, stop_.get_token())) {
      tally.unfinished_us.push_back(std::llround(MicrosecondsSince(start)));
      return;
    }
    Count(SlotOf(key), [&] { work ? Spin() : void(); });
    tally.lost += !callers_[i]->Unlock(key);
    ++tally.cycles;
    if (SteadyClock::now() < measured_from_) return;
    const bool late = stop_.stop_requested();
    tally.counted += !late;
    (late ? tally.unfinished_us : tally.took_us).push_back(std::llround(MicrosecondsSince(start)));
  }
  void PlayCycles() {
    const bool hot = task_.scenario == "hot";
    const auto lead = hot ? task_.time / 4 : 0s;
    WarmUp();
    Begin();
    measured_from_ = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(lead);
    Each([&](std::size_t i) {
      while (!stop_.stop_requested()) Cycle(i, hot ? 0 : OwnKey(i), hot);
    });
    Report({{"seconds", (task_.time - lead).count()}});
  }

  /// Two processes hold the document in turn for 100 to 160 ms, while the other one waits. What is
  /// measured is the time from one's unlocking to the other's lock.
  void PlayTurns() {
    WarmUp();
    Begin();
    const int me = task_.first;
    Slot& slot = SlotOf(0);
    Tally& tally = tallies_[0];
    while (!stop_.stop_requested()) {
      if (!callers_[0]->Lock(0, stop_.get_token())) break;
      const std::int64_t now = NowNs();
      const int before = slot.holder.exchange(me);
      if (before != 0 && before != me) {
        tally.took_us.push_back((now - slot.released_ns) / 1000);
      }
      Count(slot, [] { std::this_thread::sleep_for(100ms + (Random()() % 60) * 1ms); });
      slot.released_ns = NowNs();
      tally.lost += !callers_[0]->Unlock(0);
      ++tally.cycles;
      while (slot.holder == me && !stop_.stop_requested()) std::this_thread::sleep_for(1ms);
    }
    Report(json::object());
  }

  void PlayLeases() {
    WarmUp();
    Begin();
    timer_ = {};
    std::barrier phase(task_.callers + 1);
    std::atomic<bool> over = false;
    const auto start = SteadyClock::now();
    std::jthread callers([&] { Each([&](std::size_t i) { KeepLeases(i, phase, over); }); });
    phase.arrive_and_wait();
    const double took = SecondsSince(start);
    Say({{"held", true}});
    const double cpu = CpuSeconds();
    std::this_thread::sleep_for(task_.time);
    const double cpu_s = CpuSeconds() - cpu;
    Say({{"kept", true}});
    over = true;
    phase.arrive_and_wait();
    const auto releasing = SteadyClock::now();
    callers.join();
    Report({{"take_s", took}, {"release_s", SecondsSince(releasing)}, {"cpu_s", cpu_s}});
  }
  void KeepLeases(std::size_t i, std::barrier<>& phase, const std::atomic<bool>& over) {
    std::vector<int> keys;
    for (int key = static_cast<int>(i); key < kLeases; key += task_.callers) keys.push_back(key);
    for (const int key : keys) callers_[i]->Lock(key, {});
    phase.arrive_and_wait();
    for (auto next = SteadyClock::now() + task_.place.ttl / 3; !over;) {
      std::this_thread::sleep_for(50ms);
      if (SteadyClock::now() < next) continue;
      next += task_.place.ttl / 3;
      for (const int key : keys) callers_[i]->Renew(key);
    }
    phase.arrive_and_wait();
    for (const int key : keys) {
      Count(SlotOf(key), [] {});
      tallies_[i].lost += !callers_[i]->Unlock(key);
      ++tallies_[i].cycles;
    }
  }

  void PlayHold() {
    Begin();
    Each([&](std::size_t i) { callers_[i]->Lock(OwnKey(i), {}); });
    Say({{"held", true}});
    Each([&](std::size_t i) {
      for (;;) {
        std::this_thread::sleep_for(task_.place.ttl / 3);
        callers_[i]->Renew(OwnKey(i));
      }
    });
  }
  void PlayTake() {
    Begin();
    std::vector<std::int64_t> at(callers_.size());
    Each([&](std::size_t i) {
      if (!callers_[i]->Lock(OwnKey(i), stop_.get_token())) return;
      at[i] = NowNs();
      callers_[i]->Unlock(OwnKey(i));
    });
    Say({{"at_ns", at}});
  }

  void Report(json result) {
    std::vector<std::int64_t> cycles, counted, took, unfinished;
    std::int64_t lost = 0;
    for (const Tally& tally : tallies_) {
      cycles.push_back(tally.cycles);
      counted.push_back(tally.counted);
      took.insert(took.end(), tally.took_us.begin(), tally.took_us.end());
      unfinished.insert(unfinished.end(), tally.unfinished_us.begin(), tally.unfinished_us.end());
      lost += tally.lost;
    }
    result.update({{"cycles", cycles}, {"took_us", took}, {"unfinished_us", unfinished}});
    result["counted"] = counted;
    result["lost"] = lost;
    Say(result);
  }

  const Task task_;
  Peer& peer_;
  std::vector<std::unique_ptr<Caller>> callers_;
  std::vector<Tally> tallies_;
  std::stop_source stop_;
  SteadyClock::time_point measured_from_;
  std::jthread timer_;
};

}  // namespace

int Work(int argc, char** argv,
         const std::function<std::unique_ptr<Peer>(const Place&)>& open) try {
  if (argc != 9) throw std::runtime_error("wants the eight arguments that worker.h explains");
  Task task;
  task.place = {argv[1], argv[2], milliseconds(std::stoi(argv[8]))};
  task.page = MapPage(argv[3]);
  task.scenario = argv[4];
  task.first = std::stoi(argv[5]);
  task.callers = std::stoi(argv[6]);
  task.time = std::chrono::duration<double>(std::stod(argv[7]));
  const auto peer = open(task.place);
  if (task.scenario == "prepare") {
    peer->Prepare(kKeys);
  } else {
    Round(task, *peer).Play();
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  std::_Exit(1);
}

bool Pause(const std::stop_token& stop, milliseconds least, milliseconds most) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  const auto range = static_cast<unsigned>((most - least).count()) + 1;
  std::condition_variable_any().wait_for(lock, stop, least + milliseconds(Random()() % range),
                                         [] { return false; });
  return !stop.stop_requested();
}

bool Poll(const std::stop_token& stop, milliseconds least, milliseconds most,
          const std::function<bool()>& attempt) {
  while (!attempt()) {
    if (!Pause(stop, least, most)) return false;
  }
  return true;
}

std::string NewId() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string id(32, '0');
  for (char& digit : id) digit = kDigits[Random()() >> 8 & 15];
  return id;
}

std::int64_t UnixMilliseconds() {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::string Text() { return NewId() + std::string(1000, 'x'); }

}  // namespace doclock::peers
