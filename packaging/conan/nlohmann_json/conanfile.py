import pathlib
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration

HEADER = "nlohmann/detail/abi_macros.hpp"


class SystemNlohmannJsonConan(ConanFile):
    """nlohmann_json as the operating system installed it. It holds no files: the compiler finds them by itself."""

    name = "nlohmann_json"
    version = "system"
    license = "MIT"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"

    def system_version(self):
        for folder in ("/usr/include", "/usr/local/include"):
            path = pathlib.Path(folder, HEADER)
            if path.exists():
                text = path.read_text(encoding="utf-8")
                version = ".".join(
                    re.search(rf"#define NLOHMANN_JSON_VERSION_{part} (\d+)", text).group(1)
                    for part in ("MAJOR", "MINOR", "PATCH"))
                return version
        raise ConanInvalidConfiguration(f"{HEADER} is not installed")

    def validate(self):
        self.system_version()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "nlohmann_json")
        self.cpp_info.set_property("cmake_target_name", "nlohmann_json::nlohmann_json")
        self.cpp_info.includedirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.bindirs = []
        # What find_package compares with the version it was asked for.
        self.cpp_info.set_property("system_package_version", self.system_version())
