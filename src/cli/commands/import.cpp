#include <algorithm>
#include <atomic>
#include <exception>
#include <iostream>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/json/document_line.h"
#include "cli/json/input.h"
#include "cli/json/json_text.h"
#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

struct ImportOptions {
  std::string collection;
  std::string file = "-";  ///< "-": standard input.
  bool create = false;     ///< Leave documents alone that exist.
  LockOptions lock{.ttl = std::chrono::seconds(30)};
};

/// The number of documents that are written at a time: the library puts them into few transactions.
constexpr int kThreads = 32;

/// One import by several threads. Each takes a line, and writes its document.
class Importer {
 public:
  Importer(const LockingRepository<Body>& documents, const ImportOptions& options, Input& input)
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
  void Report(bool as_json) const {
    if (as_json) {
      PrintJson({{"imported", imported_}, {"unchanged", unchanged_}, {"locked", locked_}});
      return;
    }
    std::cout << imported_ << " documents imported";
    if (unchanged_ > 0) std::cout << ", " << unchanged_ << " were there already";
    if (locked_ > 0) std::cout << ", " << locked_ << " were locked";
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
    } catch (const BadData& error) {
      Fail(number, std::make_exception_ptr(
                       BadData("line " + std::to_string(number) + ": " + error.what())));
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
  /// Reads the text of the next document. Returns whether there is one and no line failed.
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
    DocumentLine line = ParseLine(text);
    const std::lock_guard guard(mutex_);
    const auto [place, fresh] = keys_.emplace(line.key, number);
    if (fresh) return line;
    // Which of the two is written last would be chance.
    const auto [first, second] = std::minmax(place->second, number);
    throw BadData("lines " + std::to_string(first) + " and " + std::to_string(second) +
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
    } else if (++locked_ <= 10) {  // the rest is counted
      Tell("skipped the document '" + line.key.ToString() + "': it is locked");
    }
  }
  /// Returns whether it was missing, and was created.
  [[nodiscard]] bool Create(const DocumentLine& line) const {
    try {
      documents_.Insert(line.key, line.body);
      return true;
    } catch (const ConflictException& error) {
      if (!error.index().empty()) throw;
      return false;
    }
  }
  /// Returns whether it was free, and was replaced.
  [[nodiscard]] bool Replace(const DocumentLine& line) {
    auto locked = documents_.TryLock({line.key, line.body}, options_.lock);
    if (!locked) return false;
    guess_missing_ = locked->created();
    **locked = line.body;
    locked->Release();
    return true;
  }

  const LockingRepository<Body>& documents_;
  const ImportOptions& options_;
  std::mutex reading_;  ///< Guards the input and its number; held while a line is awaited.
  Input& input_;
  std::int64_t number_ = 0;         ///< The last line that was read.
  std::atomic<bool> over_ = false;  ///< There are no more lines, or one failed.
  /// Was the last document missing? The next one is then created at once, in one write: to lock and
  /// to release takes two. If the guess is wrong, the write changes nothing.
  std::atomic<bool> guess_missing_ = true;
  std::mutex mutex_;                            ///< Guards what follows.
  std::unordered_map<Key, std::int64_t> keys_;  ///< The lines so far.
  std::int64_t imported_ = 0, unchanged_ = 0, locked_ = 0;
  std::exception_ptr error_;
  std::int64_t failed_at_ = 0;
};

int Import(const Context& context, const ImportOptions& options) {
  // Before the store: a file that cannot be read must not leave an empty store.
  Input input(options.file);
  const LockingRepository<Body> documents(context.manager(), options.collection);
  Importer importer(documents, options, input);
  try {
    importer.Run();
  } catch (...) {
    importer.Report(context.json);
    Tell("the import ended at line " + std::to_string(importer.failed_at()) +
         "; mend the cause and repeat it");
    throw;
  }
  importer.Report(context.json);
  return importer.locked() > 0 ? kBusy : kOk;
}

}  // namespace

Action AddImport(CLI::App& sub) {
  const auto options = std::make_shared<ImportOptions>();
  AddCollectionArgument(sub, options->collection, "Collection of the documents");
  AddAnything(sub, "FILE", options->file, "File that export wrote; - is standard input", "")
      ->capture_default_str();
  AddWaiting(sub, options->lock);
  sub.add_flag("--create", options->create, "Skip documents that exist");
  sub.footer("Example: doclock import --wait 10s order_sagas sagas.jsonl");
  return [options](const Context& context) { return Import(context, *options); };
}

}  // namespace doclock::cli
