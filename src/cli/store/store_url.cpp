#include "cli/store/store_url.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "cli/json/input.h"
#include "cli/output/messages.h"
#include "open/built_in_schemes.h"

namespace doclock::cli {
namespace {

constexpr const char* kVariable = "DOCLOCK_STORE";

void Overwrite(char* text) noexcept { std::memset(text, 'x', std::strlen(text)); }

}  // namespace

bool IsShared(const BuiltInScheme& store) noexcept { return store.scheme != "memory"; }

std::string HideStoreUrl(int argc, char** argv) {
  constexpr std::string_view kOption = "--store";
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    const std::string_view argument = argv[i];
    if (argument == kOption && i + 1 < argc) {
      Overwrite(argv[++i]);
    } else if (argument.starts_with("--store=")) {
      Overwrite(argv[i] + kOption.size() + 1);
    }
  }
  char* const value = std::getenv(kVariable);  // before there are threads
  if (value == nullptr) return {};
  std::string url = value;
  Overwrite(value);
  ::unsetenv(kVariable);
  return url;
}

StoreUrl UrlOf(const StoreChoice& choice, const std::string& from_environment) {
  if (!choice.url.empty()) return {choice.url, "--store"};
  if (!choice.file.empty()) {
    // "-" is a file here: standard input belongs to the command.
    Input file(choice.file == "-" ? "./-" : choice.file, "--store-file");
    std::string url;
    file.Line(url);
    if (url.ends_with('\r')) url.pop_back();  // the file may have the line ends of Windows
    if (url.empty() ||
        std::any_of(url.begin(), url.end(), [](unsigned char c) { return std::iscntrl(c) != 0; })) {
      throw std::invalid_argument("--store-file: the first line of " + Quoted(choice.file) +
                                  " is no URL in UTF-8");
    }
    return {url, "--store-file"};
  }
  if (!from_environment.empty()) return {from_environment, kVariable};
  throw std::invalid_argument(
      "there is no store; give --store URL, --store-file FILE or the variable DOCLOCK_STORE, "
      "for example sqlite:/var/lib/jobs/locks.db");
}

void CheckShared(const StoreUrl& chosen) {
  const std::string_view scheme = std::string_view(chosen.url).substr(0, chosen.url.find(':'));
  std::string known;
  for (const BuiltInScheme& store : BuiltInSchemes()) {
    if (!IsShared(store)) continue;
    if (store.scheme == scheme && scheme.size() < chosen.url.size()) return;
    known += (known.empty() ? "" : ", ") + std::string(store.example);
  }
  const bool memory = chosen.url.starts_with("memory:");
  throw std::invalid_argument(
      chosen.source +
      (memory ? ": memory: is for one process only and would lock nothing here; this build takes "
              : ": the URL's scheme is not known; this build takes ") +
      known);
}

}  // namespace doclock::cli
