#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/commands/transfer.h"
#include "cli/json/input.h"
#include "cli/json/json_text.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "cli/output/progress.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

using nlohmann::json;
using Documents = LockingRepository<Body>;

/// So many documents are written at a time: the library puts them into few transactions.
constexpr int kThreads = 32;
/// So many documents that are locked are named; the rest is counted.
constexpr int kNamed = 10;
constexpr std::chrono::milliseconds kLookForSignals{50};

/// A document, and the line that it stands on.
struct NumberedLine {
  std::int64_t number = 0;
  DocumentLine document;
};

/// The documents of the file or of standard input, in order. Not thread-safe.
class Source {
 public:
  explicit Source(const TransferOptions& options) : input_(options.file), key_(options.key) {}

  /// Reads the text of the next document and its line. False: there are no more.
  bool Next(std::string& text, std::int64_t& number) {
    do {
      if (!ReadLine(text)) return false;
      ++number_;
    } while (IsBlank(text));
    number = number_;
    return true;
  }
  /// Thread-safe. @throws BadJson
  [[nodiscard]] DocumentLine Parse(const std::string& text, std::int64_t number) const {
    try {
      return key_.text.empty() ? ParseLine(text) : ParsePlainLine(text, key_);
    } catch (const BadJson& error) {
      ThrowAt(number, error);
    }
  }
  /// The last line that was read.
  [[nodiscard]] std::int64_t number() const noexcept { return number_; }

 private:
  [[noreturn]] static void ThrowAt(std::int64_t number, const BadJson& error) {
    throw BadJson("line " + std::to_string(number) + ": " + error.what());
  }
  bool ReadLine(std::string& text) {
    try {
      return input_.Line(text);
    } catch (const BadJson& error) {
      ThrowAt(number_ + 1, error);
    }
  }

  Input input_;
  const KeyText& key_;
  std::int64_t number_ = 0;
};

/// The keys of the lines so far. Which of two lines with one key is written last would be chance.
class KeysSoFar {
 public:
  /// @throws BadJson if another line has this key
  void Add(const Key& key, std::int64_t number) {
    const auto [place, fresh] = lines_.emplace(key, number);
    if (fresh) return;
    const auto [first, second] = std::minmax(place->second, number);
    throw BadJson("line " + std::to_string(second) + ": the key '" + key.ToString() +
                  "' is that of line " + std::to_string(first));
  }

 private:
  std::unordered_map<Key, std::int64_t> lines_;
};

/// Reads every line before the first is written, so that a bad one leaves nothing half imported.
/// Standard input cannot be read twice. @throws BadJson
void CheckLines(const TransferOptions& options) {
  std::error_code error;  // a file that cannot be opened is told by Source
  if (options.file == "-" || !std::filesystem::is_regular_file(options.file, error)) return;
  Source source(options);
  KeysSoFar keys;
  std::int64_t number = 0;
  for (std::string text; source.Next(text, number);) {
    keys.Add(source.Parse(text, number).key, number);
  }
}

/// What became of a line.
enum class Outcome : std::uint8_t { kImported, kUnchanged, kBusy };
constexpr std::size_t kOutcomes = 3;

Outcome Create(const Documents& documents, const DocumentLine& line) {
  try {
    documents.Insert(line.key, line.body);
    return Outcome::kImported;
  } catch (const ConflictException& error) {
    if (!error.index().empty()) throw;
    return Outcome::kUnchanged;
  }
}

/// Writes documents that may be there already. Thread-safe.
class Replacer {
 public:
  Replacer(const Documents& documents, const TransferOptions& options)
      : documents_(documents), options_(options) {}

  Outcome Replace(const DocumentLine& line, std::stop_token stop) {
    if (missing_.load(std::memory_order_relaxed)) {
      if (Create(documents_, line) == Outcome::kImported) return Outcome::kImported;
      missing_.store(false, std::memory_order_relaxed);
    }
    if (options_.resume) {
      const auto found = documents_.Find(line.key);
      // The texts tell 1 from 1.0. Only what is equal is sure to have one.
      if (found && (*found)->json() == line.body.json() &&
          ExactText(detail::BodyAccess::Exact(**found)) ==
              ExactText(detail::BodyAccess::Exact(line.body))) {
        return Outcome::kUnchanged;
      }
      missing_.store(!found, std::memory_order_relaxed);
      if (!found && Create(documents_, line) == Outcome::kImported) return Outcome::kImported;
    }
    auto locked = documents_.TryLock({line.key, line.body},
                                     {.ttl = options_.ttl, .wait = options_.wait}, std::move(stop));
    if (!locked) return Outcome::kBusy;
    if (locked->created()) missing_.store(true, std::memory_order_relaxed);
    **locked = line.body;
    locked->Release();
    return Outcome::kImported;
  }

 private:
  const Documents& documents_;
  const TransferOptions& options_;
  /// Was the last document missing? The next one is then created at once, in one write: to look,
  /// lock and release takes three calls. If the guess is wrong, the write changes nothing.
  std::atomic<bool> missing_ = true;
};

/// One import by several threads.
class Importer {
 public:
  Importer(const Documents& documents, const TransferOptions& options, Source& source)
      : documents_(documents), options_(options), replacer_(documents, options), source_(source) {}

  void Run() {
    {
      std::vector<std::jthread> threads;
      Start(threads);
      StopAtASignal();
    }
    if (error_) std::rethrow_exception(error_);
  }
  [[nodiscard]] std::int64_t count(Outcome outcome) const {
    return counts_.at(static_cast<std::size_t>(outcome));
  }
  /// Those that have an outcome.
  [[nodiscard]] std::int64_t all() const noexcept { return all_; }
  /// The line that the import ended at: the first of those that failed. Those before it were
  /// imported, or are counted as locked.
  [[nodiscard]] std::int64_t ended_at() const noexcept {
    return failed_at_ > 0 ? failed_at_ : source_.number();
  }

 private:
  /// As many threads as there can be; one is enough.
  void Start(std::vector<std::jthread>& threads) {
    threads.reserve(kThreads);
    try {
      for (; started_ < kThreads; ++started_) threads.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      if (started_ == 0) throw;
    }
  }
  void Work() {
    NumberedLine line;
    try {
      while (Take(line)) Finish(line.document, ImportOne(line.document));
    } catch (...) {
      const std::lock_guard guard(mutex_);
      // Another line may have failed first; this one was taken before it.
      if (!error_ || line.number < failed_at_) {
        error_ = std::current_exception();
        failed_at_ = line.number;
      }
      over_ = true;
    }
    const std::lock_guard guard(mutex_);
    ++ended_;
    all_ended_.notify_one();
  }
  /// Ends the waits for locks once a signal came. Returns when all threads have ended.
  void StopAtASignal() {
    std::unique_lock lock(mutex_);
    while (!all_ended_.wait_for(lock, kLookForSignals, [this] { return ended_ == started_; })) {
      if (Interruption::signal() == 0) continue;
      lock.unlock();  // a wait that ends calls back
      stop_.request_stop();
      lock.lock();
    }
  }
  /// False: there are no more, or the import ends early.
  bool Take(NumberedLine& line) {
    std::string text;
    {
      const std::lock_guard reading(reading_);
      line.number = source_.number() + 1;  // if it cannot be read
      if (read_ || over_ || Interruption::signal() != 0) return false;
      read_ = true;  // also if it throws: the other threads read no further
      if (!source_.Next(text, line.number)) return false;
      read_ = false;
    }
    line.document = source_.Parse(text, line.number);
    const std::lock_guard guard(mutex_);
    keys_.Add(line.document.key, line.number);
    return true;
  }
  Outcome ImportOne(const DocumentLine& line) {
    try {
      return options_.create ? Create(documents_, line)
                             : replacer_.Replace(line, stop_.get_token());
    } catch (const LockException& error) {
      // Cancelled: a signal ended the wait for the lock.
      if (error.errc() != Errc::kBusy && error.errc() != Errc::kCancelled) throw;
      return Outcome::kBusy;
    }
  }
  void Finish(const DocumentLine& line, Outcome outcome) {
    const std::lock_guard guard(mutex_);
    const std::int64_t count = ++counts_.at(static_cast<std::size_t>(outcome));
    if (outcome == Outcome::kBusy && count <= kNamed) {
      Tell("skipped the document '" + line.key.ToString() + "': it is locked");
    }
    progress_.Show(++all_);
  }

  const Documents& documents_;
  const TransferOptions& options_;
  Replacer replacer_;
  std::mutex reading_;  ///< Guards the source, and is held while it waits for input.
  Source& source_;
  bool read_ = false;               ///< To its end, or as far as it can be.
  std::atomic<bool> over_ = false;  ///< A line failed.
  std::mutex mutex_;                ///< Guards what follows. Nothing waits while it is held.
  KeysSoFar keys_;
  Progress progress_{"imported"};
  std::array<std::int64_t, kOutcomes> counts_{};
  std::int64_t all_ = 0;
  std::exception_ptr error_;
  std::int64_t failed_at_ = 0;
  int started_ = 0;  ///< Threads.
  int ended_ = 0;
  std::condition_variable all_ended_;
  std::stop_source stop_;
};

void Report(const Importer& importer, bool as_json) {
  const std::int64_t imported = importer.count(Outcome::kImported);
  const std::int64_t unchanged = importer.count(Outcome::kUnchanged);
  const std::int64_t busy = importer.count(Outcome::kBusy);
  if (as_json) {
    std::cout << json{{"imported", imported}, {"unchanged", unchanged}, {"locked", busy}}.dump()
              << '\n';
    return;
  }
  std::cout << imported << " documents imported";
  if (unchanged > 0) std::cout << ", " << unchanged << " were there already";
  if (busy > 0) std::cout << ", " << busy << " were locked";
  std::cout << '\n';
}

/// How far it came, and how to go on.
/// @param first what has to be done before
void TellEnd(const char* how, const Importer& importer, const TransferOptions& options,
             const std::string& first = "") {
  Tell(std::string(how) + " at line " + std::to_string(importer.ended_at()) + "; to go on " +
       first + (options.create ? "repeat it with --create" : "give --resume"));
}

int ImportChecked(const LockManager& manager, const TransferOptions& options, Source& source) {
  const Documents documents(manager, options.collection);
  Importer importer(documents, options, source);
  try {
    importer.Run();
  } catch (const BadJson&) {
    Report(importer, options.json);
    if (importer.all() > 0) {
      TellEnd("the import ended", importer, options,
              "mend line " + std::to_string(importer.ended_at()) + ", then ");
    }
    throw;
  } catch (...) {
    Report(importer, options.json);
    if (importer.all() > 0) TellEnd("the import ended", importer, options);
    throw;
  }
  Report(importer, options.json);
  if (const int signal = Interruption::signal(); signal != 0) {
    TellEnd("interrupted", importer, options);
    return kSignalBase + signal;
  }
  return importer.count(Outcome::kBusy) > 0 ? kBusy : kOk;
}

}  // namespace

int Import(const std::function<std::shared_ptr<Store>()>& open, const TransferOptions& options) {
  const Interruption interruption;
  try {
    CheckLines(options);
    // Before the store: a file that cannot be read must not leave an empty store.
    Source source(options);
    if (const int signal = Interruption::signal(); signal != 0) {
      Tell("interrupted; nothing was imported");
      return kSignalBase + signal;
    }
    return ImportChecked(LockManager(open()), options, source);
  } catch (const BadJson& error) {
    Tell(error.what());
    return kBadData;
  }
}

}  // namespace doclock::cli
