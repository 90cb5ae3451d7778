#include <algorithm>
#include <atomic>
#include <exception>
#include <iostream>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>
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

/// The number of documents that are written at a time: the library puts them into few transactions.
constexpr int kThreads = 32;
/// The number of locked documents that are named; the rest is counted.
constexpr int kNamed = 10;

/// One import by several threads. Each takes a line, and writes its document.
class Importer {
 public:
  Importer(const Documents& documents, const TransferOptions& options, Input& input)
      : documents_(documents), options_(options), input_(input) {}

  /// Throws what the first line that failed threw. The lines before it were imported, or are
  /// counted as locked.
  void Run() {
    {
      std::vector<std::jthread> threads;
      try {
        while (threads.size() < kThreads) threads.emplace_back([this] { Work(); });
      } catch (const std::system_error&) {  // the system allows fewer threads
        if (threads.empty()) throw;
      }
    }
    if (error_) std::rethrow_exception(error_);
  }
  void Report() const {
    if (options_.json) {
      std::cout
          << json{{"imported", imported_}, {"unchanged", unchanged_}, {"locked", locked_}}.dump();
    } else {
      std::cout << imported_ << " documents imported";
      if (unchanged_ > 0) std::cout << ", " << unchanged_ << " were there already";
      if (locked_ > 0) std::cout << ", " << locked_ << " were locked";
    }
    std::cout << '\n';
  }
  [[nodiscard]] std::int64_t locked() const noexcept { return locked_; }
  /// The first line that failed.
  [[nodiscard]] std::int64_t failed_at() const noexcept { return failed_at_; }

 private:
  void Work() {
    std::int64_t number = 0;
    try {
      for (std::string text; Take(text, number);) Write(Parse(text, number));
    } catch (const BadJson& error) {
      Fail(number, std::make_exception_ptr(
                       BadJson("line " + std::to_string(number) + ": " + error.what())));
    } catch (...) {
      Fail(number, std::current_exception());
    }
  }
  void Fail(std::int64_t number, std::exception_ptr error) {
    over_ = true;
    const std::lock_guard guard(mutex_);
    // Another line may have failed first; this one was taken before it.
    if (error_ && number > failed_at_) return;
    error_ = std::move(error);
    failed_at_ = number;
  }
  /// Reads the text of the next document. False: there are no more, or a line failed.
  bool Take(std::string& text, std::int64_t& number) {
    const std::lock_guard guard(reading_);
    do {
      if (over_) return false;
      number = ++number_;
      if (!input_.Line(text)) over_ = true;
    } while (over_ || IsBlank(text));
    return true;
  }
  DocumentLine Parse(const std::string& text, std::int64_t number) {
    DocumentLine line =
        options_.key.text.empty() ? ParseLine(text) : ParsePlainLine(text, options_.key);
    const std::lock_guard guard(mutex_);
    const auto [place, fresh] = keys_.emplace(line.key, number);
    if (fresh) return line;
    // Which of the two is written last would be chance.
    const auto [first, second] = std::minmax(place->second, number);
    throw BadJson("lines " + std::to_string(first) + " and " + std::to_string(second) +
                  " have the same key, '" + line.key.ToString() + "'");
  }
  void Write(const DocumentLine& line) {
    const bool created = (options_.create || guess_missing_) && Create(line);
    const bool replaced = !created && !options_.create && Replace(line);
    const std::lock_guard guard(mutex_);
    if (created || replaced) {
      ++imported_;
    } else if (options_.create) {
      ++unchanged_;
    } else if (++locked_ <= kNamed) {
      Tell("skipped the document '" + line.key.ToString() + "': it is locked");
    }
    progress_.Show(imported_ + unchanged_ + locked_);
  }
  /// False: it exists.
  [[nodiscard]] bool Create(const DocumentLine& line) const {
    try {
      documents_.Insert(line.key, line.body);
      return true;
    } catch (const ConflictException& error) {
      if (!error.index().empty()) throw;
      return false;
    }
  }
  /// False: it is locked.
  [[nodiscard]] bool Replace(const DocumentLine& line) {
    auto locked =
        documents_.TryLock({line.key, line.body}, {.ttl = options_.ttl, .wait = options_.wait});
    if (!locked) return false;
    guess_missing_ = locked->created();
    **locked = line.body;
    locked->Release();
    return true;
  }

  const Documents& documents_;
  const TransferOptions& options_;
  std::mutex reading_;  ///< Guards the input and its number; held while a line is awaited.
  Input& input_;
  std::int64_t number_ = 0;         ///< Of the last line that was read.
  std::atomic<bool> over_ = false;  ///< There are no more lines, or one failed.
  /// Was the last document missing? The next one is then created at once, in one write: to lock and
  /// to release takes two. If the guess is wrong, the write changes nothing.
  std::atomic<bool> guess_missing_ = true;
  std::mutex mutex_;                            ///< Guards what follows.
  std::unordered_map<Key, std::int64_t> keys_;  ///< The lines so far.
  Progress progress_{"imported"};
  std::int64_t imported_ = 0, unchanged_ = 0, locked_ = 0;
  std::exception_ptr error_;
  std::int64_t failed_at_ = 0;
};

}  // namespace

int Import(const std::function<std::shared_ptr<Store>()>& open, const TransferOptions& options) {
  // Before the store: a file that cannot be read must not leave an empty store.
  Input input(options.file);
  const Documents documents(LockManager(open()), options.collection);
  Importer importer(documents, options, input);
  try {
    importer.Run();
  } catch (...) {
    importer.Report();
    Tell("the import ended at line " + std::to_string(importer.failed_at()) +
         "; mend the cause and repeat it");
    throw;
  }
  importer.Report();
  return importer.locked() > 0 ? kBusy : kOk;
}

}  // namespace doclock::cli
