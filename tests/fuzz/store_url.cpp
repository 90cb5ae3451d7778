// Store URLs: what is refused is refused as std::invalid_argument, whose text shows no secret and
// is one printable line; what is accepted can be written again and read as the same.

#include <cctype>
#include <stdexcept>

#include "doclock/open_store.h"
#include "fuzz/support/fuzz.h"
#include "memory/open_url.h"
#ifdef DOCLOCK_WITH_SQLITE
#include "sqlite/sqlite_url.h"
#endif
#ifdef DOCLOCK_WITH_MONGODB
#include "mongodb/client/uri.h"
#endif
#ifdef DOCLOCK_WITH_POSTGRESQL
#include "postgresql/client/url.h"
#endif

namespace doclock::fuzz {
namespace {

/// Digits keep it from being the name of an option, which messages show.
constexpr std::string_view kSecret = "0p3nS3s4m3";

void CheckText(std::string_view text) {
  constexpr std::size_t kLongest = 600;
  Require(!text.empty() && text.size() <= kLongest, "a message has a reasonable length");
  Require(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }),
          "a message is one line of printable ASCII");
}

/// Does the call refuse its argument? Nothing but std::invalid_argument counts as a refusal.
template <class F>
bool Refuses(bool hides_secrets, const F& call) {
  try {
    call();
    return false;
  } catch (const std::invalid_argument& error) {
    CheckText(error.what());
    Require(!hides_secrets || std::string_view(error.what()).find(kSecret) == std::string::npos,
            "a message shows no secret");
    return true;
  }
}

void TryMemory(std::string_view url) {
  const bool refused = Refuses(false, [&] { (void)OpenMemoryUrl(url, OpenMode::kAsTheUrlSays); });
  Require(refused == (url != "memory:"), "memory: takes nothing more");
}

#ifdef DOCLOCK_WITH_SQLITE
std::string Encoded(std::u8string_view path) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char8_t c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && std::isalnum(byte) != 0) {
      text += static_cast<char>(byte);
    } else {
      text += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return text;
}

const char* NameOf(SqliteSync sync) {
  if (sync == SqliteSync::kFull) return "full";
  return sync == SqliteSync::kNormal ? "normal" : "off";
}

std::string UrlOf(const SqliteUrl& url) {
  const auto truth = [](bool value) { return value ? "true" : "false"; };
  const SqliteStoreOptions& options = url.options;
  return Encoded(url.file.u8string()) + "?sync=" + NameOf(options.sync) +
         "&create=" + truth(options.create) + "&local_only=" + truth(options.local_only) +
         "&busy_timeout_ms=" + std::to_string(options.busy_timeout.ms().count()) +
         "&max_pages=" + std::to_string(options.max_pages);
}

void TrySqlite(std::string_view rest) {
  SqliteUrl url;
  if (Refuses(false, [&] { url = ParseSqliteUrl(rest); })) return;
  const SqliteUrl again = ParseSqliteUrl(UrlOf(url));
  Require(again.file.native() == url.file.native(), "a path survives being written and read");
  Require(UrlOf(again) == UrlOf(url), "options survive being written and read");
}
#endif

#ifdef DOCLOCK_WITH_MONGODB
/// How often libmongoc has printed a line.
int complaints = 0;

void Complain(mongoc_log_level_t, const char*, const char* message, void*) {
  ++complaints;
  Require(std::string_view(message).find(kSecret) == std::string::npos,
          "libmongoc prints no secret");
}

void TryMongodb(const std::string& text) {
  static const bool kListening = [] {
    mongoc_init();
    mongoc_log_set_handler(Complain, nullptr);
    return true;
  }();
  (void)kListening;
  mongodb::UriPtr uri(nullptr, &mongoc_uri_destroy);
  complaints = 0;
  if (Refuses(true, [&] { uri = mongodb::ParseUri(text, {}); })) return;
  Require(complaints == 0, "libmongoc has nothing to complain of in what is accepted");
  const char* const database = mongoc_uri_get_database(uri.get());
  Require(database != nullptr && *database != 0, "an accepted URI names a database");
  Require(text.starts_with("mongodb+srv:") || mongoc_uri_get_hosts(uri.get()) != nullptr,
          "an accepted URI names a server");
  Require(!Refuses(true, [&] { uri = mongodb::ParseUri(mongoc_uri_get_string(uri.get()), {}); }),
          "an accepted URI is accepted again");
}
#endif

#ifdef DOCLOCK_WITH_POSTGRESQL
void TryPostgresql(const std::string& text) {
  postgresql::Url url;
  if (Refuses(true, [&] { url = postgresql::ParseUrl(text); })) return;
  Require(!url.hosts.empty(), "an accepted URL says where the server may be");
  Require(!Refuses(true, [&] { (void)postgresql::ParseUrl(text); }),
          "an accepted URL is accepted again");
}
#endif

void TryUnknown(std::string_view url) {
  for (const char* const known :
       {"memory:", "sqlite:", "mongodb:", "mongodb+srv:", "postgres:", "postgresql:"}) {
    if (url.starts_with(known)) return;
  }
  Require(Refuses(true, [&] { (void)OpenStore(url); }), "an unknown scheme is refused");
}

void Try(const std::string& url) {
  TryMemory(url);
#ifdef DOCLOCK_WITH_SQLITE
  constexpr std::string_view kSqlite = "sqlite:";
  if (url.starts_with(kSqlite)) TrySqlite(std::string_view(url).substr(kSqlite.size()));
#endif
#ifdef DOCLOCK_WITH_MONGODB
  if (url.starts_with("mongodb")) TryMongodb(url);
#endif
#ifdef DOCLOCK_WITH_POSTGRESQL
  if (url.starts_with("postgres")) TryPostgresql(url);
#endif
  TryUnknown(url);
}

}  // namespace
}  // namespace doclock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace doclock::fuzz;
  if (size <= kLongestInput) Try(std::string(TextOf(data, size)));
  return 0;
}
