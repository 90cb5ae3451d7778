#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

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

/// Makes the file. Only its owner can read it, because documents may be private.
std::ofstream Create(const std::string& file) {
  const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made < 0 && errno == EEXIST) {
    throw std::invalid_argument("FILE: " + Quoted(file) + " exists; choose another name");
  }
  if (made < 0) {
    throw IoError("FILE: " + Quoted(file) + " cannot be written: " + std::strerror(errno));
  }
  ::close(made);
  return std::ofstream(file, std::ios::app);
}

/// Writes documents as lines, and counts them.
class Lines {
 public:
  Lines(std::ostream& out, const std::string& collection) : out_(out), collection_(collection) {}

  void Add(const DocumentLine& document) {
    if (document.left_out > 0 && incomplete_++ == 0) first_ = document.key.ToString();
    left_out_ += document.left_out;
    out_ << TextOf(document) << '\n';
    CheckWritten();
    progress_.Show(++count);
  }
  void Finish() {
    out_.flush();
    CheckWritten();
  }
  /// Names what the output lacks although it is stored.
  void TellLeftOut() const {
    if (incomplete_ == 0) return;
    Tell("members whose names are empty, begin with '$' or hold '.' are not in the output: " +
         std::to_string(left_out_) + " in " + std::to_string(incomplete_) +
         " documents, the first of which is '" + first_ + "'");
  }

  std::int64_t count = 0;

 private:
  [[nodiscard]] std::string TextOf(const DocumentLine& document) const {
    try {
      return WithoutControls(detail::Print(LineOf(document)));
    } catch (const json::type_error&) {
      throw DocumentException("document '" + document.key.ToString() + "' of '" + collection_ +
                                  "' cannot be exported: it holds text that is not valid UTF-8",
                              std::make_shared<const DocumentId>(collection_, document.key));
    }
  }
  void CheckWritten() const {
    if (out_) return;
    throw IoError(std::string("the output cannot be written: ") + std::strerror(errno));
  }

  std::ostream& out_;
  const std::string& collection_;
  Progress progress_{"exported"};
  std::int64_t left_out_ = 0, incomplete_ = 0;  ///< Members; documents that have some.
  std::string first_;                           ///< The first of those documents.
};

}  // namespace

int Export(const LockManager& manager, const TransferOptions& options) {
  // Before the file is made: the collection may be missing.
  const LockingRepository<Body> documents(manager, options.collection);
  const bool to_file = options.file != "-";
  std::ofstream file = to_file ? Create(options.file) : std::ofstream();
  Lines lines(to_file ? file : std::cout, options.collection);
  try {
    ForEachDocument(manager, options, [&](const DocumentLine& document) {
      lines.Add(document);
      return true;
    });
    lines.Finish();
  } catch (...) {
    lines.TellLeftOut();
    throw;
  }
  lines.TellLeftOut();
  if (to_file && options.json) std::cout << json{{"exported", lines.count}}.dump() << '\n';
  if (to_file && !options.json) std::cout << lines.count << " documents exported\n";
  return kOk;
}

}  // namespace doclock::cli
