#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "cli/commands/commands.h"
#include "cli/commands/documents/documents.h"
#include "cli/json/input.h"
#include "cli/json/json_text.h"
#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

namespace fs = std::filesystem;

struct EditOptions : DocumentOptions {
  std::string editor;  ///< Instead of $VISUAL, $EDITOR, vi.
};

/// A file in a folder that only this user can read. Both stay until Remove().
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
  [[nodiscard]] const fs::path& folder() const noexcept { return folder_; }
  [[nodiscard]] fs::path path() const { return folder_ / "document.json"; }
  /// Returns the present contents.
  [[nodiscard]] std::string Text() const {
    std::error_code ignored;
    try {
      // What is no file might have no end, or nothing to read.
      if (fs::is_regular_file(path(), ignored)) return Input(path()).Rest();
    } catch (const std::invalid_argument&) {
    }
    throw IoError("cannot read the edited file: it is gone, is no file, or cannot be opened");
  }
  void Remove() const noexcept {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

 private:
  fs::path folder_;
};

/// Runs the editor through the shell, as other programs do, because $EDITOR may hold options.
void RunEditor(std::string editor, const fs::path& file) {
  for (const char* variable : {"VISUAL", "EDITOR"}) {
    const char* const value = std::getenv(variable);
    if (editor.empty() && value != nullptr) editor = value;
  }
  if (editor.empty()) editor = "vi";
  const int status = std::system((editor + " " + ShellWord(file.string())).c_str());
  if (status == 0) return;
  std::string how = "the editor ended with exit code " + std::to_string(WEXITSTATUS(status));
  if (WIFSIGNALED(status)) how = "signal " + std::to_string(WTERMSIG(status)) + " ended the editor";
  if (status == -1) how = std::string("cannot start the editor: ") + std::strerror(errno);
  throw BadData(how + "; nothing was changed");
}

/// Lets the user edit the file, stores it and unlocks. If it throws, nothing was stored, or it is
/// in doubt.
void EditAndStore(const PrivateFile& file, const std::string& before, Locked<Body>& document,
                  const std::string& editor) {
  RunEditor(editor, file.path());
  const std::string after = file.Text();
  if (IsBlank(after)) throw BadData("the edited file is empty; nothing was changed");
  if (after == before) {
    Tell("nothing was changed");
    return document.Discard();
  }
  *document = StorableBody(ParseJson(after));
  document.Release();
}

int Edit(const Context& context, const EditOptions& options) {
  const Key key = ParseKey(options.key);
  const LockingRepository<Body> documents(context.manager(), options.collection);
  auto document = documents.Lock(key, options.lock);
  const std::string before = detail::Print(detail::BodyAccess::Exact(*document), 2) + "\n";
  const PrivateFile file(before);
  try {
    EditAndStore(file, before, document, options.editor);
  } catch (...) {
    Tell("your text is kept in " + file.folder().string());
    throw;
  }
  file.Remove();
  return kOk;
}

}  // namespace

Action AddEdit(CLI::App& sub) {
  const auto options = std::make_shared<EditOptions>();
  AddDocument(sub, *options);
  AddWaiting(sub, options->lock);
  AddAnything(sub, "--editor", options->editor, "Editor to use instead of $VISUAL, $EDITOR and vi",
              "COMMAND");
  sub.footer("Example: EDITOR=nano doclock edit --wait 10s order_sagas 42");
  return [options](const Context& context) { return Edit(context, *options); };
}

}  // namespace doclock::cli
