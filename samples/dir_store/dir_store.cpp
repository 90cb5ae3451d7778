#include "dir_store.h"

#include <doclock/errors.h>

#include <map>
#include <utility>

#include "files.h"

namespace fs = std::filesystem;
using doclock::Key;
using doclock::Record;
using Json = nlohmann::json;

namespace {

constexpr const char* kDigits = "0123456789abcdef";
/// File names may have 255 bytes; a key in hexadecimal 2,052. So it is cut into folders.
constexpr std::size_t kPiece = 200;
constexpr const char* kEnding = ".json";

fs::path PathOf(const Key& key) {
  std::string hex;
  for (const char c : doclock::KeyToText(key)) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  fs::path path;
  for (; hex.size() > kPiece; hex.erase(0, kPiece)) path /= hex.substr(0, kPiece);
  return path / (hex + kEnding);
}

/// The key of a path below the collection's folder.
Key KeyAt(const fs::path& relative) {
  std::string hex;
  fs::path bare = relative;
  bare.replace_extension();
  for (const fs::path& part : bare) hex += part.string();
  std::string text;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return doclock::KeyFromText(text);
}

Json ToJson(const Record& record) {
  Json json{{"lock", record.lock}};
  if (record.body) json["body"] = record.body.json();
  return json;
}

Record FromJson(Json json) {
  Record record;
  record.lock = std::move(json.at("lock"));
  if (json.contains("body")) record.body = doclock::Body::FromJson(std::move(json.at("body")));
  return record;
}

/// Changes wait in memory until Commit. One alone is one step by itself; several are written into a
/// journal first, which the next transaction plays again if this process dies half-way.
class DirTransaction final : public doclock::RecordStore::Transaction {
 public:
  DirTransaction(fs::path folder, std::chrono::milliseconds budget)
      : folder_(std::move(folder)), lock_(folder_ / "lock", budget) {
    if (const auto journal = ReadFile(Journal())) Play(Json::parse(*journal));
  }

  std::optional<Record> Load(const Key& key) override {
    const std::optional<std::string> text = ReadFile(Documents() / PathOf(key));
    if (!text) return std::nullopt;
    try {
      return FromJson(Json::parse(*text));
    } catch (const Json::exception&) {
      throw doclock::StoreException(doclock::Errc::kMalformed,
                                    (Documents() / PathOf(key)).string() + " is no record");
    }
  }

  void Scan(const std::function<bool(const Key&, Record&&)>& visit) override {
    for (const auto& entry : fs::recursive_directory_iterator(Documents())) {
      if (entry.path().extension() != kEnding) continue;
      const Key key = KeyAt(fs::relative(entry.path(), Documents()));
      Record record;
      try {
        if (auto loaded = Load(key)) record = *std::move(loaded);
      } catch (const doclock::StoreException& error) {
        if (error.errc() != doclock::Errc::kMalformed) throw;
      }
      if (!visit(key, std::move(record))) return;
    }
  }

  void Put(const Key& key, const Record& record) override { Change(PathOf(key), ToJson(record)); }
  void Erase(const Key& key) override { Change(PathOf(key), Json()); }

  Json Settings() override {
    const std::optional<std::string> text = ReadFile(folder_ / "settings.json");
    return text ? Json::parse(*text) : Json();
  }
  void PutSettings(const Json& settings) override {
    changes_[(fs::path("..") / "settings.json").string()] = settings;
  }

  void Commit() override {
    Json changes = Json::object();
    for (auto& [file, content] : changes_) changes[file] = std::move(content);
    // Throws what cannot be written as text, before anything is.
    const std::string text = changes.dump();
    if (changes.size() < 2) return Play(changes);
    ReplaceFile(Journal(), text);
    try {
      Play(changes);
    } catch (const std::exception& error) {  // the next transaction plays the journal
      throw doclock::InDoubtException(error.what());
    }
  }

 private:
  [[nodiscard]] fs::path Journal() const { return folder_ / "journal.json"; }
  [[nodiscard]] fs::path Documents() const { return folder_ / "documents"; }

  void Change(const fs::path& file, Json content) { changes_[file.string()] = std::move(content); }

  void Play(const Json& changes) {
    for (const auto& [file, content] : changes.items()) {
      const fs::path path = (Documents() / file).lexically_normal();
      if (content.is_null()) {
        RemoveFile(path);
      } else {
        fs::create_directories(path.parent_path());
        ReplaceFile(path, content.dump(2));
      }
    }
    if (fs::exists(Journal())) RemoveFile(Journal());
  }

  const fs::path folder_;
  const FileLock lock_;
  std::map<std::string, Json> changes_;
};

}  // namespace

DirStore::DirStore(fs::path root, doclock::OpenMode mode,
                   std::shared_ptr<const doclock::Clock> clock)
    : root_(std::move(root)),
      mode_(mode),
      clock_(clock ? std::move(clock) : doclock::SystemClock()) {}

doclock::TimePoint DirStore::Now() const noexcept { return clock_->Now(); }

void DirStore::Create(const std::string& collection) {
  const fs::path documents = root_ / collection / "documents";
  if (mode_ != doclock::OpenMode::kAsTheUrlSays && !fs::exists(documents)) {
    throw doclock::NotFoundException("there is no collection " + collection);
  }
  fs::create_directories(documents);
}

std::unique_ptr<doclock::RecordStore::Transaction> DirStore::Begin(
    const std::string& collection, Access, std::chrono::milliseconds budget) {
  return std::make_unique<DirTransaction>(root_ / collection, budget);
}
