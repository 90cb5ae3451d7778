#include "cli/commands/documents/documents.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cli/json/input.h"
#include "cli/json/json_text.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

/// A file in a folder that only this user can read; both are deleted at the end, unless kept.
class PrivateFile {
 public:
  explicit PrivateFile(const std::string& text) {
    const char* const variable = std::getenv("TMPDIR");
    const std::string parent = variable != nullptr && *variable != '\0' ? variable : "/tmp";
    std::string folder = parent + "/doclock-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) {
      throw IoError("cannot create a folder in " + parent + " (TMPDIR): " + std::strerror(errno));
    }
    folder_ = folder;
    std::ofstream stream(path());
    if (!(stream << text << std::flush)) {
      const std::string why = std::strerror(errno);
      Remove();
      throw IoError("cannot write " + path().string() + " (TMPDIR): " + why);
    }
  }
  PrivateFile(const PrivateFile&) = delete;
  PrivateFile& operator=(const PrivateFile&) = delete;
  ~PrivateFile() {
    if (!kept_) Remove();
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "document.json"; }
  /// The present contents, if the file can be read and may be a document.
  [[nodiscard]] std::optional<std::string> Text() const {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path(), ignored)) return std::nullopt;
    try {
      return Input(path()).Rest();
    } catch (const std::invalid_argument&) {
      return std::nullopt;
    } catch (const BadJson&) {
      return std::nullopt;
    }
  }
  /// Keeps the folder, and says where it is, unless it holds nothing besides this text.
  void KeepUnless(const std::string& text) {
    kept_ = HoldsMoreThan(text);
    if (!kept_) return;
    std::error_code ignored;
    const bool there = std::filesystem::exists(std::filesystem::symlink_status(path(), ignored));
    const bool regular = std::filesystem::is_regular_file(path(), ignored);
    // An editor that removed it may have left the text in another file.
    Tell((there && !regular ? "what the editor left is kept in " : "your text is kept in ") +
         (regular ? path() : folder_).string());
  }

 private:
  /// An editor that failed may have left the text in another file.
  [[nodiscard]] bool HoldsMoreThan(const std::string& before) const {
    std::error_code ignored;
    std::filesystem::directory_iterator entry(folder_, ignored);
    for (; entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
      if (entry->path() != path()) return true;
      const std::optional<std::string> text = Text();
      if (!text || (*text != before && !IsBlank(*text))) return true;
    }
    return false;
  }
  void Remove() noexcept {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  bool kept_ = false;
  std::filesystem::path folder_;
};

/// Runs the editor through the shell, as other programs do, because $EDITOR may hold options.
/// Returns what went wrong; empty: nothing.
std::string RunEditor(const DocumentOptions& options, const std::filesystem::path& file) {
  std::string editor = options.editor;
  for (const char* variable : {"VISUAL", "EDITOR"}) {
    const char* const value = std::getenv(variable);
    if (editor.empty() && value != nullptr) editor = value;
  }
  if (editor.empty()) editor = "vi";
  const std::string command = editor + " " + ShellWord(file.string());
  const int status = std::system(command.c_str());
  if (status == -1) return "cannot start the editor: " + std::string(std::strerror(errno));
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + " ended the editor";
  const int code = WEXITSTATUS(status);
  return code == 0 ? "" : "the editor ended with exit code " + std::to_string(code);
}

/// Asks on the terminal; without one the answer is no.
bool EditAgain() {
  if (::isatty(STDIN_FILENO) != 1) return false;
  std::cerr << "Edit again? [Y/n] ";
  std::string answer;
  return std::getline(std::cin, answer) && (answer.empty() || answer[0] == 'y' || answer[0] == 'Y');
}

/// Lets the user edit the file until it can be stored, stores it and unlocks. Returns the exit
/// code; unless it is kOk, nothing was stored.
int EditAndStore(const PrivateFile& file, const std::string& before, Locked<Body>& document,
                 const DocumentOptions& options) {
  for (;;) {
    if (const std::string failed = RunEditor(options, file.path()); !failed.empty()) {
      Tell(failed + "; nothing was changed");
      return kBadData;
    }
    const std::optional<std::string> after = file.Text();
    if (!after) {
      throw IoError(
          "cannot read the edited file: it is gone, is no file, is too long, or cannot be opened");
    }
    if (IsBlank(*after)) {
      Tell("the edited file is empty; nothing was changed");
      return kBadData;
    }
    if (after == before) {
      Tell("nothing was changed");
      document.Discard();
      return kOk;
    }
    try {
      *document = detail::BodyAccess::Make(ParseJson(*after));
      document.Release();
      return kOk;
    } catch (const BadJson& error) {
      Tell(error.what());
    } catch (const DocumentException& error) {
      Tell(error.what());
    }
    if (!EditAgain()) {
      Tell("nothing was changed");
      return kBadData;
    }
  }
}

}  // namespace

int Edit(const LockManager& manager, const DocumentOptions& options) {
  const LockingRepository<Body> documents(manager, options.collection);
  auto document = documents.Lock(ParseKey(options.key), {.ttl = options.ttl, .wait = options.wait});
  const std::string before = detail::Print(detail::BodyAccess::Exact(*document), 2) + "\n";
  PrivateFile file(before);
  int code = kOk;
  try {
    code = EditAndStore(file, before, document, options);
  } catch (...) {
    file.KeepUnless(before);
    throw;
  }
  if (code != kOk) file.KeepUnless(before);
  return code;
}

}  // namespace doclock::cli
