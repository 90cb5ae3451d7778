#include "cli/documents.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cli/check_json.h"
#include "cli/exit_codes.h"
#include "cli/messages.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

/// The text is no JSON, or cannot be a document.
struct BadJson : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// @throws BadJson
json ParseJson(const std::string& text) {
  const std::string loss = LossIn(text);
  if (!loss.empty()) throw BadJson("this JSON cannot be stored as it stands: " + loss);
  try {
    return json::parse(text);
  } catch (const json::exception& error) {  // a number that is too large is not a parse_error
    throw BadJson(std::string("this is no JSON that can be read: ") + error.what());
  }
}

/// Reads the whole file. @throws std::invalid_argument
std::string ReadAll(const std::string& file) {
  if (file == "-") {
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  }
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file)) {
    throw std::invalid_argument("FILE: " + Quoted(file) + " cannot be read");
  }
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// A file in a folder that only this user can read; both are deleted at the end, unless kept.
class PrivateFile {
 public:
  explicit PrivateFile(const std::string& text) {
    const char* const variable = std::getenv("TMPDIR");
    std::string folder = variable != nullptr && *variable != '\0' ? variable : "/tmp";
    folder += "/doclock-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) {
      throw IoError("TMPDIR: no folder can be made in it: " + std::string(std::strerror(errno)));
    }
    folder_ = folder;
    std::ofstream stream(path());
    if (!(stream << text << std::flush)) {
      Remove();
      throw IoError("TMPDIR: a file cannot be written in it: " + std::string(std::strerror(errno)));
    }
  }
  PrivateFile(const PrivateFile&) = delete;
  PrivateFile& operator=(const PrivateFile&) = delete;
  ~PrivateFile() {
    if (!kept_) Remove();
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "document.json"; }
  /// The present contents, if the file can be read.
  [[nodiscard]] std::optional<std::string> Text() const {
    std::ifstream stream(path());
    if (!stream) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  /// Keeps the file, and says where it is, unless it holds this text.
  void KeepUnless(const std::string& text) {
    std::error_code ignored;
    kept_ = Text() != text && std::filesystem::exists(path(), ignored);
    if (kept_) Tell("what you wrote is kept in " + path().string());
  }

 private:
  void Remove() noexcept {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  bool kept_ = false;
  std::filesystem::path folder_;
};

/// Runs the editor through the shell, as other programs do, because $EDITOR may hold options.
bool RunEditor(const DocumentOptions& options, const std::filesystem::path& file) {
  std::string editor = options.editor;
  for (const char* variable : {"VISUAL", "EDITOR"}) {
    const char* const value = std::getenv(variable);
    if (editor.empty() && value != nullptr) editor = value;
  }
  if (editor.empty()) editor = "vi";
  const std::string command = editor + " \"" + file.string() + "\"";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
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
int EditAndStore(const PrivateFile& file, const std::string& before, Locked<json>& document,
                 const DocumentOptions& options) {
  for (;;) {
    if (!RunEditor(options, file.path())) {
      Tell("the editor failed; nothing was changed");
      return kBadData;
    }
    const std::optional<std::string> after = file.Text();
    if (!after) throw IoError("TMPDIR: the edited file is gone, or cannot be read");
    if (after == before) {
      Tell("nothing was changed");
      document.Discard();
      return kOk;
    }
    try {
      *document = ParseJson(*after);
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

int Get(const LockManager& manager, const DocumentOptions& options) {
  const LockingRepository<json> documents(manager, options.collection);
  const auto found = documents.Find(ParseKey(options.key));
  if (!found) {
    Tell("there is no document '" + options.key.text + "' of '" + options.collection + "'");
    return kNotFound;
  }
  // This library does not write text that is not UTF-8; another program did.
  std::cout << (**found).dump(options.compact ? -1 : 2, ' ', false, json::error_handler_t::replace)
            << '\n';
  return kOk;
}

int Put(const std::function<std::shared_ptr<Store>()>& open, const DocumentOptions& options) {
  json body;
  try {
    body = ParseJson(ReadAll(options.file));
  } catch (const BadJson& error) {
    Tell(error.what());
    return kBadData;
  }
  const LockManager manager(open());
  const LockingRepository<json> documents(manager, options.collection);
  auto document =
      documents.Lock(ParseKey(options.key), body, {.ttl = options.ttl, .wait = options.wait});
  *document = std::move(body);
  document.Release();
  return kOk;
}

int Edit(const LockManager& manager, const DocumentOptions& options) {
  const LockingRepository<json> documents(manager, options.collection);
  auto document = documents.Lock(ParseKey(options.key), {.ttl = options.ttl, .wait = options.wait});
  const std::string before = document->dump(2) + "\n";
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
