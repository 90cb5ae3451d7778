#include "run.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "audit.h"
#include "input.h"
#include "saga.h"
#include "supervisor.h"

namespace order_saga {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostProblems = 20;

/// A folder of this run's own, removed at the end unless it may help to find an error.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "order_saga-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), name);
    }
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!keep_) fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }
  void Keep(bool keep) { keep_ = keep; }

 private:
  fs::path path_;
  bool keep_ = false;
};

/// The URL of a SQLite file; some characters mean something in a URL.
std::string SqliteUrlOf(const fs::path& file) {
  std::string url = "sqlite:";
  for (const char c : file.string()) {
    constexpr std::string_view kSpecial = "%?#";
    std::array<char, 4> escaped{};
    std::snprintf(escaped.data(), escaped.size(), "%%%02X", static_cast<unsigned char>(c));
    url += kSpecial.find(c) == kSpecial.npos ? std::string(1, c) : escaped.data();
  }
  return url;
}

/// Another one in every run, so that one run never meets the sagas of another.
std::string FreshCollectionName() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%S", &utc);
  return "sagas-" + std::string(text.data()) + "-" + std::to_string(::getpid());
}

/// Waits for all of them, also when one fails, and then throws what the first failure was.
template <class T>
void FinishAll(std::vector<std::future<T>>& pending) {
  std::exception_ptr failure;
  for (auto& each : pending) {
    try {
      each.get();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

/// Inserts all sagas. Many at a time, so that they share the store's commits.
void StoreSagas(const SagaRepository& sagas, const std::vector<Saga>& input) {
  if (!sagas.Find(doclock::Filter{}.Limit(1)).empty()) {
    throw std::runtime_error("the collection " + sagas.name() + " already holds documents");
  }
  std::vector<std::future<std::int64_t>> pending;
  for (Saga saga : input) {
    saga.attempts.due = doclock::Date::Now();
    pending.push_back(sagas.InsertAsync(saga));
  }
  FinishAll(pending);
}

void EraseSagas(const SagaRepository& sagas, const std::vector<Saga>& input) {
  std::vector<std::future<bool>> pending;
  for (const Saga& saga : input) pending.push_back(sagas.EraseAsync(saga.id));
  FinishAll(pending);
}

void PrintFigures(const Outcome& outcome, std::size_t total) {
  const double rate = outcome.seconds > 0 ? static_cast<double>(total) / outcome.seconds : 0.0;
  std::printf("sagas                  %zu\n", total);
  std::printf("steps                  %zu\n", outcome.steps);
  std::printf("seconds                %.2f\n", outcome.seconds);
  std::printf("sagas/s                %.0f\n", rate);
  std::printf("killed workers         %d\n", outcome.killed);
  std::printf("take-overs             %d\n", outcome.take_overs);
  std::printf("slowest take-over      %.3f s\n", outcome.slowest_take_over);
  std::printf("steps given up         %d\n", outcome.lost);
  std::printf("longest wait for lock  %.3f s\n", outcome.longest_wait);
}

void PrintVerdict(const std::vector<std::string>& problems) {
  if (problems.empty()) {
    std::printf("audit: every step of every saga was done exactly once\n");
    return;
  }
  std::printf("audit: %zu problems\n", problems.size());
  for (std::size_t i = 0; i < problems.size() && i < kMostProblems; ++i) {
    std::printf("  %s\n", problems[i].c_str());
  }
  if (problems.size() > kMostProblems) {
    std::printf("  and %zu more\n", problems.size() - kMostProblems);
  }
}

}  // namespace

int Run(const Options& options) {
  const std::vector<Saga> input = ReadSagas(options.input);
  Folder folder;
  Place place;
  place.folder = folder.path();
  place.collection = FreshCollectionName();
  // A file for this run alone need not survive a power cut, only the death of processes.
  place.store = options.store.empty() ? SqliteUrlOf(folder.path() / "orders.db") + "?sync=normal"
                                      : options.store;

  const doclock::LockManager manager{doclock::OpenStore(place.store),
                                     {.owner = "order_saga supervisor"}};
  const SagaRepository sagas{
      manager, place.collection, {.ttl = std::chrono::milliseconds(options.ttl_ms)}};
  StoreSagas(sagas, input);

  folder.Keep(true);  // whatever goes wrong from here on, the journals help to find out
  const Outcome outcome = Supervise(options, place, sagas, input.size());
  PrintFigures(outcome, input.size());
  std::vector<std::string> problems = Audit(input, sagas, place, options.workers);
  problems.insert(problems.end(), outcome.fails.begin(), outcome.fails.end());
  PrintVerdict(problems);

  if (problems.empty() && !options.keep) {
    EraseSagas(sagas, input);
    folder.Keep(false);
  } else {
    std::printf("kept: the collection %s, and the folder %s\n", place.collection.c_str(),
                folder.path().c_str());
  }
  return problems.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace order_saga
