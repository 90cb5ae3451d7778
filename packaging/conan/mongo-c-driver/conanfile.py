import pathlib
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration

HEADER = "libmongoc-1.0/mongoc/mongoc-version.h"
LIBRARIES = {"bson": "bson-1.0", "mongoc": "mongoc-1.0"}


class SystemMongoCDriverConan(ConanFile):
    """libmongoc as the operating system installed it. It holds no files: its headers are where the system has them."""

    name = "mongo-c-driver"
    version = "system"
    license = "Apache-2.0"
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True]}
    default_options = {"shared": True}

    def system_version(self):
        for folder in ("/usr/include", "/usr/local/include"):
            path = pathlib.Path(folder, HEADER)
            if path.exists():
                text = path.read_text(encoding="utf-8")
                version = re.search(r"#define MONGOC_VERSION \(?([0-9.]+)", text).group(1)
                return path.parents[2], version
        raise ConanInvalidConfiguration(f"{HEADER} is not installed")

    def validate(self):
        self.system_version()

    def package_info(self):
        include, version = self.system_version()
        self.cpp_info.set_property("cmake_file_name", "mongoc-1.0")
        # What find_package compares with the version it was asked for.
        self.cpp_info.set_property("system_package_version", version)
        for name, library in LIBRARIES.items():
            component = self.cpp_info.components[name]
            component.set_property("cmake_target_name", f"mongo::{name}_shared")
            component.set_property("pkg_config_name", f"lib{library}")
            component.includedirs = [str(include / f"lib{library}")]
            component.libdirs = []
            component.bindirs = []
            component.system_libs = [library]
        self.cpp_info.components["mongoc"].requires = ["bson"]
