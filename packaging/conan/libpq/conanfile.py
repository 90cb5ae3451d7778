import pathlib
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration

FOLDERS = ("/usr/include/postgresql", "/usr/include", "/usr/local/include")


class SystemLibpqConan(ConanFile):
    """libpq as the operating system installed it. It holds no files: its headers are where the system has them."""

    name = "libpq"
    version = "system"
    license = "PostgreSQL"
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"

    def system_version(self):
        for folder in FOLDERS:
            path = pathlib.Path(folder, "pg_config.h")
            if path.exists():
                text = path.read_text(encoding="utf-8")
                return folder, re.search(r'#define PG_VERSION "([0-9.]+)', text).group(1)
        raise ConanInvalidConfiguration("libpq's pg_config.h is not installed")

    def validate(self):
        self.system_version()

    def package_info(self):
        include, version = self.system_version()
        self.cpp_info.set_property("cmake_file_name", "PostgreSQL")
        self.cpp_info.set_property("cmake_target_name", "PostgreSQL::PostgreSQL")
        self.cpp_info.set_property("pkg_config_name", "libpq")
        # What find_package compares with the version it was asked for.
        self.cpp_info.set_property("system_package_version", version)
        self.cpp_info.includedirs = [include]
        self.cpp_info.libdirs = []
        self.cpp_info.bindirs = []
        self.cpp_info.system_libs = ["pq"]
