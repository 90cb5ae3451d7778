#pragma once

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

/// A folder of its own, gone with its last owner. For tests.
inline std::shared_ptr<const std::filesystem::path> MakeFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "dir-store-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  return {new std::filesystem::path(pattern), [](const std::filesystem::path* folder) {
            std::error_code ignored;
            std::filesystem::remove_all(*folder, ignored);
            delete folder;
          }};
}
