#include <dlfcn.h>
#include <sys/auxv.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <system_error>

#include "doclock/errors.h"
#include "open/store_module.h"

namespace doclock {
namespace {

namespace fs = std::filesystem;

StoreException CannotLoad(const std::string& why) {
  return {Errc::kRefused, "doclock: the store is a module, and " + why};
}

/// The folder of the program, or of the shared library that this code is in.
fs::path OwnFolder() {
#ifdef DOCLOCK_MODULES_OF_PROGRAM
  // Not by argv[0], which the caller of the program chooses.
  return fs::read_symlink("/proc/self/exe").parent_path();
#else
  static const char anchor = 0;
  Dl_info own{};
  if (::dladdr(&anchor, &own) == 0) throw CannotLoad("its folder cannot be found out");
  const fs::path file = own.dli_fname;
  // A relative path is another one after a change of the current folder.
  if (file.is_relative()) throw CannotLoad("the library of doclock was loaded by a relative path");
  return fs::canonical(file).parent_path();
#endif
}

fs::path FileOf(const std::string& store) {
  try {
    return (OwnFolder() / DOCLOCK_MODULE_PLACE / ("doclock_" + store + ".so")).lexically_normal();
  } catch (const fs::filesystem_error& error) {
    throw CannotLoad(std::string("its folder cannot be found out: ") + error.code().message());
  }
}

const StoreModule& Load(const std::string& store) {
  // The place of such a program may be of its user's choice: by a hard link.
  if (::getauxval(AT_SECURE) != 0) {
    throw CannotLoad("modules are not loaded into a program with set-user-ID or more capabilities");
  }
  const fs::path file = FileOf(store);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) {
    throw CannotLoad(file.string() + " is missing; install it (package doclock-" + store + ")");
  }
  // It stays loaded: the driver has threads and functions that are called at exit.
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    throw CannotLoad("it cannot be loaded: " + std::string(why != nullptr ? why : file.c_str()));
  }
  const void* const found = ::dlsym(library, "doclock_store_module");
  if (found == nullptr) throw CannotLoad(file.string() + " is not a module of doclock");
  const auto& module = *static_cast<const StoreModule*>(found);
  if (std::string_view(module.build) != DOCLOCK_MODULE_BUILD) {
    throw CannotLoad(file.string() + " is of another build of doclock (" + module.build +
                     ", here " DOCLOCK_MODULE_BUILD "); install both from one build");
  }
  return module;
}

}  // namespace

const StoreModule& LoadStoreModule(std::string_view store) {
  static std::mutex mutex;
  static auto& loaded = *new std::map<std::string, const StoreModule*, std::less<>>;
  const std::lock_guard lock(mutex);
  const auto found = loaded.find(store);
  if (found != loaded.end()) return *found->second;
  return *loaded.emplace(store, &Load(std::string(store))).first->second;
}

}  // namespace doclock
