#include "cli/documents.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <boost/uuid/string_generator.hpp>

#include "cli/exit_codes.h"
#include "doclock/locking_repository.h"

namespace doclock::cli {
namespace {

using nlohmann::json;

ObjectId ParseObjectId(const std::string& text) {
  ObjectId id;
  if (text.size() != 24 || text.find_first_not_of("0123456789abcdefABCDEF") != text.npos) {
    throw std::invalid_argument("an oid key is 24 hexadecimal digits");
  }
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    id.bytes[i] = static_cast<std::uint8_t>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return id;
}

Key ParseKey(const DocumentOptions& options) {
  const std::string& text = options.key;
  if (options.key_type == "oid") return ParseObjectId(text);
  if (options.key_type == "uuid") {
    try {
      return Key(boost::uuids::string_generator()(text));
    } catch (const std::runtime_error&) {
      throw std::invalid_argument("the key is not a UUID");
    }
  }
  if (options.key_type == "int") {
    std::size_t used = 0;
    try {
      const long long number = std::stoll(text, &used);
      if (used == text.size()) return Key(number);
    } catch (const std::logic_error&) {
      used = 0;
    }
    throw std::invalid_argument("the key is not an integer of 64 bits");
  }
  return Key(text);
}

/// The whole of it. @throws std::invalid_argument
std::string ReadAll(const std::string& file) {
  if (file == "-") {
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  }
  std::ifstream stream(file);
  if (!stream) throw std::invalid_argument(file + " cannot be read");
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// A file in a folder that only this user can look into; both go at the end.
class PrivateFile {
 public:
  explicit PrivateFile(const std::string& text) {
    std::string folder = (std::filesystem::temp_directory_path() / "doclock-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) {
      throw std::runtime_error("a temporary folder cannot be made");
    }
    folder_ = folder;
    std::ofstream(path()) << text;
  }
  PrivateFile(const PrivateFile&) = delete;
  PrivateFile& operator=(const PrivateFile&) = delete;
  ~PrivateFile() {
    if (kept_) return;
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "document.json"; }
  void Keep() noexcept { kept_ = true; }

 private:
  bool kept_ = false;
  std::filesystem::path folder_;
};

/// Runs the editor. The shell is asked, as others do, because $EDITOR may hold options.
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

}  // namespace

int Get(const LockManager& manager, const DocumentOptions& options) {
  const LockingRepository<json> documents(manager, options.collection);
  const auto found = documents.Find(ParseKey(options));
  if (!found) {
    std::cerr << "doclock: there is no document '" << options.key << "' of '" << options.collection
              << "'\n";
    return kNotFound;
  }
  std::cout << (**found).dump(options.compact ? -1 : 2) << '\n';
  return kOk;
}

int Put(const LockManager& manager, const DocumentOptions& options) {
  json body;
  try {
    body = json::parse(ReadAll(options.file));
  } catch (const json::parse_error& error) {
    std::cerr << "doclock: this is no JSON: " << error.what() << '\n';
    return kBadData;
  }
  const LockingRepository<json> documents(manager, options.collection);
  auto document =
      documents.Lock(ParseKey(options), body, {.ttl = options.ttl, .wait = options.wait});
  *document = std::move(body);
  document.Release();
  return kOk;
}

int Edit(const LockManager& manager, const DocumentOptions& options) {
  const LockingRepository<json> documents(manager, options.collection);
  auto document = documents.Lock(ParseKey(options), {.ttl = options.ttl, .wait = options.wait});
  const std::string before = document->dump(2) + "\n";
  PrivateFile file(before);
  for (;;) {
    if (!RunEditor(options, file.path())) {
      std::cerr << "doclock: the editor failed; nothing was changed\n";
      return kBadData;
    }
    const std::string after = ReadAll(file.path().string());
    if (after == before) {
      std::cerr << "doclock: nothing was changed\n";
      document.Discard();
      return kOk;
    }
    try {
      *document = json::parse(after);
      document.Release();
      return kOk;
    } catch (const json::parse_error& error) {
      std::cerr << "doclock: this is no JSON: " << error.what() << '\n';
    } catch (const DocumentException& error) {
      std::cerr << "doclock: " << error.what() << '\n';
    } catch (const Error&) {
      file.Keep();
      std::cerr << "doclock: what you wrote is kept in " << file.path().string() << '\n';
      throw;
    }
    if (!EditAgain()) {
      std::cerr << "doclock: nothing was changed\n";
      return kBadData;
    }
  }
}

}  // namespace doclock::cli
