// The suite that every store has to pass, against this one.
#include <doclock/conformance/store_conformance.h>

#include "dir_store.h"
#include "temp_folder.h"

namespace doclock::conformance {
namespace {

Backend MakeDir() {
  Backend backend;
  const auto folder = MakeFolder();
  const auto clock = std::make_shared<ManualClock>();
  backend.remains = std::make_shared<std::shared_ptr<const std::filesystem::path>>(folder);
  backend.clock = clock;
  const auto open = [folder, clock](OpenMode mode) {
    return StoreOver(std::make_shared<DirStore>(*folder, mode, clock));
  };
  backend.open_another = [open] { return open(OpenMode::kAsTheUrlSays); };
  backend.open_existing = [open] { return open(OpenMode::kExisting); };
  backend.store = backend.open_another();
  return backend;
}

}  // namespace

std::vector<StoreKind> AllStores() { return {{"Dir", MakeDir}}; }
std::vector<StoreKind> LocalStores() { return AllStores(); }

}  // namespace doclock::conformance
