import pathlib
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration

HEADER = "sqlite3.h"


class SystemSqlite3Conan(ConanFile):
    """SQLite as the operating system installed it. It holds no files: the compiler finds them by itself."""

    name = "sqlite3"
    version = "system"
    license = "Unlicense"
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"

    def system_version(self):
        for folder in ("/usr/include", "/usr/local/include"):
            path = pathlib.Path(folder, HEADER)
            if path.exists():
                text = path.read_text(encoding="utf-8")
                version = re.search(r'#define SQLITE_VERSION\s+"([0-9.]+)"', text).group(1)
                return version
        raise ConanInvalidConfiguration(f"{HEADER} is not installed")

    def validate(self):
        self.system_version()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "both")
        self.cpp_info.set_property("cmake_file_name", "SQLite3")
        self.cpp_info.set_property("cmake_target_name", "SQLite::SQLite3")
        self.cpp_info.set_property("pkg_config_name", "sqlite3")
        self.cpp_info.includedirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.bindirs = []
        self.cpp_info.system_libs = ["sqlite3"]
        # What find_package compares with the version it was asked for.
        self.cpp_info.set_property("system_package_version", self.system_version())
