// The suite that every store has to pass, against this one.
#include <doclock/conformance/store_conformance.h>
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>

#include "dir_store.h"

namespace doclock::conformance {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, gone with its last owner.
std::shared_ptr<const fs::path> MakeFolder() {
  std::string pattern = (fs::temp_directory_path() / "dir-store-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  return {new fs::path(pattern), [](const fs::path* folder) {
            std::error_code ignored;
            fs::remove_all(*folder, ignored);
            delete folder;
          }};
}

Backend MakeDir() {
  Backend backend;
  const auto folder = MakeFolder();
  const auto clock = std::make_shared<ManualClock>();
  backend.remains = std::make_shared<std::shared_ptr<const fs::path>>(folder);
  backend.clock = clock;
  const auto open = [folder, clock] {
    return StoreOver(std::make_shared<DirStore>(*folder, clock));
  };
  backend.store = open();
  backend.open_another = open;
  return backend;
}

}  // namespace

std::vector<StoreKind> AllStores() { return {{"Dir", MakeDir}}; }
std::vector<StoreKind> LocalStores() { return AllStores(); }

}  // namespace doclock::conformance
