#include "dir_store.h"

#include <doclock/errors.h>

#include <stdexcept>
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
constexpr const char* kDocuments = "documents";
constexpr const char* kSettings = "settings.json";

/// The file of a record, below the root.
fs::path PathOf(const std::string& collection, const Key& key) {
  std::string hex;
  for (const char c : doclock::KeyToText(key)) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  fs::path path = fs::path(collection) / kDocuments;
  for (; hex.size() > kPiece; hex.erase(0, kPiece)) path /= hex.substr(0, kPiece);
  return path / (hex + kEnding);
}

/// The key of a path below the collection's folder; nothing if it is another file's.
std::optional<Key> KeyAt(const fs::path& relative) {
  std::string hex;
  fs::path bare = relative;
  bare.replace_extension();
  for (const fs::path& part : bare) hex += part.string();
  std::string text;
  try {
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
      text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    return doclock::KeyFromText(text);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

Json ToJson(const Record& record) {
  Json json{{"lock", record.lock}};
  // As text: a tree would round its numbers.
  if (record.body) json["body"] = record.body.text();
  return json;
}

Record FromJson(const Json& json) {
  Record record;
  record.lock = json.at("lock");
  if (json.contains("body"))
    record.body = doclock::Body::FromText(json.at("body").get<std::string>());
  return record;
}

/// Changes wait in memory until Commit. One alone is one step by itself; several are written into a
/// journal first, which the next transaction plays again if this process dies half-way.
class DirTransaction final : public doclock::RecordStore::Transaction {
 public:
  DirTransaction(fs::path root, const doclock::Clock& clock, std::chrono::milliseconds budget)
      : root_(std::move(root)), clock_(clock), lock_(root_ / "lock", budget) {
    if (const auto journal = ReadFile(Journal())) Play(Json::parse(*journal));
  }

  std::vector<std::optional<Record>> Load(std::span<const doclock::RecordKey> keys) override {
    std::vector<std::optional<Record>> records;
    for (const auto& [collection, key] : keys) records.push_back(LoadOne(collection, key));
    return records;
  }

  void Scan(const std::string& collection, const doclock::Filter&,
            const std::function<bool(const Key&, Record&&)>& visit) override {
    const fs::path documents = root_ / collection / kDocuments;
    for (const auto& entry : fs::recursive_directory_iterator(documents)) {
      if (entry.path().extension() != kEnding) continue;
      const std::optional<Key> key = KeyAt(fs::relative(entry.path(), documents));
      if (!key) continue;
      auto record = LoadOne(collection, *key);
      if (record && !visit(*key, *std::move(record))) return;
    }
  }

  doclock::RecordTime Now() override { return {clock_.Now(), clock_.WallTime()}; }

  void Put(const std::string& collection, const Key& key, const Record& record) override {
    changes_[PathOf(collection, key).string()] = ToJson(record);
  }
  void Erase(const std::string& collection, const Key& key) override {
    changes_[PathOf(collection, key).string()] = nullptr;
  }

  Json Settings(const std::string& collection) override {
    const std::optional<std::string> text = ReadFile(root_ / collection / kSettings);
    return text ? Json::parse(*text) : Json();
  }
  void PutSettings(const std::string& collection, const Json& settings) override {
    changes_[(fs::path(collection) / kSettings).string()] = settings;
  }

  void Commit() override {
    // Throws what cannot be written as text, before anything is.
    const std::string text = changes_.dump();
    if (changes_.size() < 2) return Play(changes_);
    ReplaceFile(Journal(), text);
    try {
      Play(changes_);
    } catch (const std::exception& error) {  // the next transaction plays the journal
      throw doclock::InDoubtException(error.what());
    }
  }

 private:
  /// One that is no record has a lock that is null.
  std::optional<Record> LoadOne(const std::string& collection, const Key& key) {
    const std::optional<std::string> text = ReadFile(root_ / PathOf(collection, key));
    if (!text) return std::nullopt;
    try {
      return FromJson(Json::parse(*text));
    } catch (const Json::exception&) {
      return Record{};
    }
  }
  [[nodiscard]] fs::path Journal() const { return root_ / "journal.json"; }

  void Play(const Json& changes) {
    for (const auto& [file, content] : changes.items()) {
      const fs::path path = root_ / file;
      if (content.is_null()) {
        RemoveFile(path);
      } else {
        fs::create_directories(path.parent_path());
        ReplaceFile(path, content.dump(2));
      }
    }
    if (fs::exists(Journal())) RemoveFile(Journal());
  }

  const fs::path root_;
  const doclock::Clock& clock_;
  const FileLock lock_;
  Json changes_ = Json::object();  ///< What becomes of each file; null: it goes.
};

}  // namespace

DirStore::DirStore(fs::path root, doclock::OpenMode mode,
                   std::shared_ptr<const doclock::Clock> clock)
    : root_(std::move(root)),
      mode_(mode),
      clock_(clock ? std::move(clock) : doclock::SystemClock()) {}

void DirStore::Create(const std::string& collection) {
  const fs::path documents = root_ / collection / kDocuments;
  if (mode_ != doclock::OpenMode::kAsTheUrlSays && !fs::exists(documents)) {
    throw doclock::NotFoundException("there is no collection " + collection);
  }
  fs::create_directories(documents);
}

std::unique_ptr<doclock::RecordStore::Transaction> DirStore::Begin(
    Access, std::chrono::milliseconds budget) {
  return std::make_unique<DirTransaction>(root_, *clock_, budget);
}
