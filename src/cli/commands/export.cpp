#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/commands/transfer.h"
#include "cli/json/json_text.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "cli/output/progress.h"
#include "doclock/errors.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

/// With it each line begins: the members are in the order of their names.
constexpr std::string_view kLineStart = R"({"body":)";

/// Lines are written together, whole ones only.
constexpr std::size_t kWrittenAtOnce = 64 * 1024;

[[noreturn]] void ThrowUnwritable(int error) {
  throw IoError(std::string("the output cannot be written: ") + std::strerror(error));
}

[[noreturn]] void ThrowUnreadable(const std::string& file, int error) {
  throw IoError("FILE: " + Quoted(file) + " cannot be read: " + std::strerror(error));
}

/// The lines of an earlier, interrupted export.
struct Earlier {
  std::set<Key> keys;
  off_t whole = 0;  ///< Where its last whole line ends.
};

/// @throws std::invalid_argument if the file holds anything else
Earlier ReadEarlier(const std::string& file) {
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(file, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw std::invalid_argument("--resume: FILE is no regular file");
  }
  Earlier earlier;
  errno = 0;
  std::ifstream stream(file);
  const bool missing = status.type() == std::filesystem::file_type::not_found;
  if (!stream && !missing) ThrowUnreadable(file, errno);
  std::string line;
  while (std::getline(stream, line)) {
    if (stream.eof()) {  // half a line, which is removed
      if (line.starts_with(kLineStart) || kLineStart.starts_with(line)) break;
      throw std::invalid_argument("--resume: FILE ends with what export did not write");
    }
    try {
      earlier.keys.insert(ParseLine(line).key);
    } catch (const BadJson& error) {
      throw std::invalid_argument("--resume: FILE has a line that export did not write: " +
                                  std::string(error.what()));
    }
    earlier.whole += static_cast<off_t>(line.size()) + 1;
  }
  if (stream.bad()) ThrowUnreadable(file, errno);
  return earlier;
}

/// The file or standard output. Lines stay whole: what was not written is missing as a whole.
class Lines {
 public:
  explicit Lines(const std::string& file) : descriptor_(STDOUT_FILENO), fresh_(file) {
    Open(file, O_EXCL);
  }
  /// Goes on behind the whole lines.
  Lines(const std::string& file, const Earlier& earlier) : descriptor_(STDOUT_FILENO) {
    Open(file, 0);
    if (::ftruncate(descriptor_, earlier.whole) != 0) ThrowUnwritable(errno);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  /// A new file into which nothing was written is removed.
  ~Lines() {
    if (descriptor_ == STDOUT_FILENO) return;
    struct stat found {};
    const bool empty = ::fstat(descriptor_, &found) == 0 && found.st_size == 0;
    if (empty && !finished_ && !fresh_.empty()) ::unlink(fresh_.c_str());
    ::close(descriptor_);
  }

  void Add(const std::string& line) {
    buffer_ += line;
    buffer_ += '\n';
    if (buffer_.size() >= kWrittenAtOnce) Flush();
  }
  void Flush() {
    while (!buffer_.empty()) {
      const ssize_t written = ::write(descriptor_, buffer_.data(), buffer_.size());
      if (written > 0) {
        buffer_.erase(0, static_cast<std::size_t>(written));  // nothing is written twice
      } else if (written < 0 && errno == EAGAIN) {
        AwaitReader();
      } else if (written == 0 || errno != EINTR) {
        ThrowUnwritable(errno);
      }
    }
  }
  /// Writes all, so that a crash of the machine does not lose it.
  void Finish() {
    Flush();
    if (descriptor_ != STDOUT_FILENO && ::fsync(descriptor_) != 0 && errno != EINVAL) {
      ThrowUnwritable(errno);
    }
    finished_ = true;
  }

 private:
  /// A standard output that is a pipe may be shared with a program that made it non-blocking.
  void AwaitReader() const {
    pollfd place{descriptor_, POLLOUT, 0};
    if (::poll(&place, 1, -1) < 0 && errno != EINTR) ThrowUnwritable(errno);
  }
  void Open(const std::string& file, int flags) {
    if (file == "-") return;
    // Documents may be private.
    descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0600);
    if (descriptor_ >= 0) return;
    const int error = errno;
    descriptor_ = STDOUT_FILENO;
    if (error == EEXIST) {
      throw std::invalid_argument(
          "FILE: " + Quoted(file) +
          " exists; give --resume to go on with it, or choose another name");
    }
    throw IoError("FILE: " + Quoted(file) + " cannot be written: " + std::strerror(error));
  }

  int descriptor_;
  const std::string fresh_;  ///< The name of a file that was made here.
  bool finished_ = false;
  std::string buffer_;
};

/// One export.
class Exporter {
 public:
  Exporter(const LockManager& manager, const TransferOptions& options, std::set<Key> known,
           Lines& lines)
      : manager_(manager), options_(options), known_(std::move(known)), lines_(lines) {}

  void Run() {
    const LockingRepository<Body> documents(manager_, options_.collection);
    ForEachDocument(manager_, options_, [&](const DocumentLine& document) {
      if (known_.contains(document.key)) return Interruption::signal() == 0;
      NoteLeftOut(document);
      if (options_.lock) {
        AddLocked(documents, document.key);
      } else {
        Add(document);
      }
      return Interruption::signal() == 0;
    });
  }
  /// Names what the output lacks although it is stored.
  void TellLeftOut() const {
    if (incomplete_ == 0) return;
    Tell("members whose names are empty, begin with '$' or hold '.' are not in the output: " +
         std::to_string(left_out_) + " in " + std::to_string(incomplete_) +
         " documents, the first of which is '" + first_incomplete_ + "'");
  }
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] std::int64_t busy() const noexcept { return busy_; }

 private:
  void NoteLeftOut(const DocumentLine& document) {
    if (document.left_out == 0) return;
    if (incomplete_++ == 0) first_incomplete_ = document.key.ToString();
    left_out_ += document.left_out;
  }
  void Add(const DocumentLine& document) {
    try {
      lines_.Add(WithoutControls(detail::Print(LineOf(document))));
    } catch (const json::type_error&) {
      throw DocumentException(
          "document '" + document.key.ToString() + "' of '" + options_.collection +
              "' cannot be exported: it holds text that is not valid UTF-8",
          std::make_shared<const DocumentId>(options_.collection, document.key));
    }
    progress_.Show(++count_);
  }
  void AddLocked(const LockingRepository<Body>& documents, const Key& key) {
    try {
      auto locked = documents.TryLock(key, {.ttl = options_.ttl, .wait = options_.wait});
      if (!locked) {
        ++busy_;
        Tell("skipped the document '" + key.ToString() + "': it is locked");
        return;
      }
      const DocumentLine line{key, locked->version(), false, **locked};
      locked->Discard();
      Add(line);
    } catch (const NotFoundException&) {
      // It was deleted meanwhile.
    }
  }

  const LockManager& manager_;
  const TransferOptions& options_;
  const std::set<Key> known_;
  Lines& lines_;
  Progress progress_{"exported"};
  std::int64_t count_ = 0, busy_ = 0;
  std::int64_t left_out_ = 0, incomplete_ = 0;  ///< Members; documents that have some.
  std::string first_incomplete_;
};

void Report(const TransferOptions& options, std::int64_t count, std::size_t earlier) {
  if (options.file == "-") return;
  if (options.json) {
    std::cout << json{{"exported", count}, {"earlier", earlier}}.dump() << '\n';
  } else {
    std::cout << count << " documents exported"
              << (earlier > 0 ? ", " + std::to_string(earlier) + " were there already" : "")
              << '\n';
  }
}

}  // namespace

int Export(const LockManager& manager, const TransferOptions& options) {
  const Interruption interruption;
  Earlier earlier;
  if (options.resume) earlier = ReadEarlier(options.file);
  const std::size_t known = earlier.keys.size();
  // Before the file is made: the collection may be missing.
  const LockingRepository<Body> documents(manager, options.collection);
  std::unique_ptr<Lines> lines = options.resume ? std::make_unique<Lines>(options.file, earlier)
                                                : std::make_unique<Lines>(options.file);
  Exporter exporter(manager, options, std::move(earlier.keys), *lines);
  try {
    exporter.Run();
  } catch (...) {
    lines->Flush();  // what was read can be kept
    exporter.TellLeftOut();
    throw;
  }
  lines->Finish();
  exporter.TellLeftOut();
  if (const int signal = Interruption::signal(); signal != 0) {
    Tell("interrupted after " + std::to_string(exporter.count()) + " documents" +
         (options.file == "-" ? "" : "; give --resume to go on"));
    return kSignalBase + signal;
  }
  Report(options, exporter.count(), known);
  return exporter.busy() > 0 ? kBusy : kOk;
}

}  // namespace doclock::cli
