#include "dir_url.h"

#include <doclock/open_store.h>

#include <stdexcept>

#include "dir_store.h"

namespace {

std::shared_ptr<doclock::Store> OpenDirUrl(std::string_view url, doclock::OpenMode mode) {
  constexpr std::string_view kScheme = "dir:";
  const std::string_view path = url.substr(kScheme.size());
  if (path.empty()) throw std::invalid_argument("a dir: URL's path is missing: write dir:PATH");
  return doclock::StoreOver(std::make_shared<DirStore>(path, mode));
}

}  // namespace

void RegisterDirScheme() { doclock::RegisterScheme("dir", OpenDirUrl); }
