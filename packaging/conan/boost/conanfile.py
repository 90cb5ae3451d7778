import pathlib
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration

HEADER = "boost/version.hpp"


class SystemBoostConan(ConanFile):
    """Boost's headers as the operating system installed it. It holds no files: the compiler finds them by itself."""

    name = "boost"
    version = "system"
    license = "BSL-1.0"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"header_only": [True, False]}
    default_options = {"header_only": True}

    def system_version(self):
        for folder in ("/usr/include", "/usr/local/include"):
            path = pathlib.Path(folder, HEADER)
            if path.exists():
                text = path.read_text(encoding="utf-8")
                number = int(re.search(r"#define BOOST_VERSION (\d+)", text).group(1))
                version = f"{number // 100000}.{number // 100 % 1000}.{number % 100}"
                return version
        raise ConanInvalidConfiguration(f"{HEADER} is not installed")

    def validate(self):
        self.system_version()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "Boost")
        headers = self.cpp_info.components["headers"]
        headers.set_property("cmake_target_name", "Boost::headers")
        headers.includedirs = []
        headers.libdirs = []
        headers.bindirs = []
        # What find_package compares with the version it was asked for.
        self.cpp_info.set_property("system_package_version", self.system_version())
