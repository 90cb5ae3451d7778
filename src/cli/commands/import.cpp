#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cli/commands/transfer.h"
#include "cli/json/json_text.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "cli/output/progress.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

using nlohmann::json;
using Documents = LockingRepository<json>;

/// So many documents are written at a time: the library puts them into few transactions.
constexpr int kThreads = 32;
/// So many documents that are locked are named; the rest is counted.
constexpr int kNamed = 10;

bool IsBlank(const std::string& line) { return line.find_first_not_of(" \t\r") == line.npos; }

/// The lines of the file or of standard input, in order. Not thread-safe.
class Source {
 public:
  explicit Source(const std::string& file) : stream_(file == "-" ? std::cin : file_) {
    if (file == "-") return;
    file_.open(file);
    if (!file_ || std::filesystem::is_directory(file)) {
      throw std::invalid_argument("FILE: " + Quoted(file) + " cannot be read");
    }
  }
  /// False: there are no more.
  bool Next(std::string& line) {
    do {
      ++number_;
      if (!std::getline(stream_, line)) return false;
    } while (IsBlank(line));
    return true;
  }
  [[nodiscard]] std::int64_t number() const noexcept { return number_; }

 private:
  std::ifstream file_;
  std::istream& stream_;
  std::int64_t number_ = 0;
};

DocumentLine ParseNumbered(const std::string& line, std::int64_t number) {
  try {
    return ParseLine(line);
  } catch (const BadJson& error) {
    throw BadJson("line " + std::to_string(number) + ": " + error.what());
  }
}

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
void CheckLines(const std::string& file) {
  if (file == "-" || !std::filesystem::is_regular_file(file)) return;
  Source source(file);
  KeysSoFar keys;
  for (std::string line; source.Next(line);) {
    keys.Add(ParseNumbered(line, source.number()).key, source.number());
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

  Outcome Replace(const DocumentLine& line) {
    if (missing_.load(std::memory_order_relaxed)) {
      if (Create(documents_, line) == Outcome::kImported) return Outcome::kImported;
      missing_.store(false, std::memory_order_relaxed);
    }
    if (options_.resume) {
      const auto found = documents_.Find(line.key);
      // The texts tell 1 from 1.0.
      if (found && (*found)->dump() == line.body.dump()) return Outcome::kUnchanged;
      missing_.store(!found, std::memory_order_relaxed);
      if (!found && Create(documents_, line) == Outcome::kImported) return Outcome::kImported;
    }
    auto locked =
        documents_.TryLock(line.key, line.body, {.ttl = options_.ttl, .wait = options_.wait});
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
      for (int i = 0; i < kThreads; ++i) threads.emplace_back([this] { Work(); });
    }
    if (error_) std::rethrow_exception(error_);
  }
  [[nodiscard]] std::int64_t count(Outcome outcome) const {
    return counts_.at(static_cast<std::size_t>(outcome));
  }

 private:
  void Work() {
    try {
      for (DocumentLine line; Take(line);) Finish(line, ImportOne(line));
    } catch (...) {
      const std::lock_guard guard(mutex_);
      if (!error_) error_ = std::current_exception();
      over_ = true;
    }
  }
  /// False: there are no more, or the import ends early.
  bool Take(DocumentLine& line) {
    std::string text;
    std::int64_t number = 0;
    {
      const std::lock_guard guard(mutex_);
      if (over_ || Interruption::signal() != 0 || !source_.Next(text)) return false;
      number = source_.number();
    }
    line = ParseNumbered(text, number);
    const std::lock_guard guard(mutex_);
    keys_.Add(line.key, number);
    return true;
  }
  Outcome ImportOne(const DocumentLine& line) {
    try {
      return options_.create ? Create(documents_, line) : replacer_.Replace(line);
    } catch (const LockException& error) {
      if (error.errc() != Errc::kBusy) throw;
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
  std::mutex mutex_;  ///< Guards what follows.
  Source& source_;
  KeysSoFar keys_;
  Progress progress_{"imported"};
  std::array<std::int64_t, kOutcomes> counts_{};
  std::int64_t all_ = 0;
  std::exception_ptr error_;
  bool over_ = false;
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

int ImportChecked(const LockManager& manager, const TransferOptions& options, Source& source) {
  const Documents documents(manager, options.collection);
  Importer importer(documents, options, source);
  try {
    importer.Run();
  } catch (...) {
    Report(importer, options.json);
    throw;
  }
  Report(importer, options.json);
  if (const int signal = Interruption::signal(); signal != 0) {
    Tell("interrupted; give --resume to go on");
    return kSignalBase + signal;
  }
  return importer.count(Outcome::kBusy) > 0 ? kBusy : kOk;
}

}  // namespace

int Import(const std::function<std::shared_ptr<Store>()>& open, const TransferOptions& options) {
  const Interruption interruption;
  try {
    CheckLines(options.file);
    // Before the store: a file that cannot be read must not leave an empty store.
    Source source(options.file);
    return ImportChecked(LockManager(open()), options, source);
  } catch (const BadJson& error) {
    Tell(error.what());
    return kBadData;
  }
}

}  // namespace doclock::cli
