import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, rmdir

required_conan_version = ">=2.4"


class DoclockConan(ConanFile):
    name = "doclock"
    description = "Lock documents: JSON documents with a lease, over the database you already have"
    license = "MIT"
    url = "https://github.com/conan-io/conan-center-index"
    homepage = "https://doclock.invalid"
    topics = ("lock", "lease", "json", "sqlite", "postgresql", "mongodb", "database")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "with_sqlite": [True, False],
        "with_mongodb": [True, False],
        "with_postgresql": [True, False],
        "with_testing": [True, False],
    }
    default_options = {
        "shared": False,
        "fPIC": True,
        "with_sqlite": True,
        "with_mongodb": False,
        "with_postgresql": False,
        "with_testing": True,
        "boost/*:header_only": True,
        "mongo-c-driver/*:shared": True,
    }
    implements = ["auto_shared_fpic"]
    # A C++17 build of this library does not exist, and a C++23 one is not the same: no mixing behind the user's back.
    extension_properties = {"compatibility_cppstd": False}

    def layout(self):
        cmake_layout(self, src_folder="src")

    def requirements(self):
        # Both are part of the public headers: completion tokens and UUIDs, and JSON.
        self.requires("boost/1.86.0", transitive_headers=True)
        self.requires("nlohmann_json/3.11.3", transitive_headers=True)
        if self.options.with_sqlite:
            self.requires("sqlite3/3.46.1")
        if self.options.with_mongodb:
            self.requires("mongo-c-driver/1.27.6")
        if self.options.with_postgresql:
            self.requires("libpq/15.5")

    def validate(self):
        check_min_cppstd(self, 20)

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["DOCLOCK_BUILD_TESTS"] = False
        toolchain.cache_variables["DOCLOCK_BUILD_SAMPLES"] = False
        toolchain.cache_variables["DOCLOCK_BUILD_BENCHMARKS"] = False
        toolchain.cache_variables["DOCLOCK_BUILD_CLI"] = False
        toolchain.cache_variables["DOCLOCK_BUILD_TESTING"] = bool(self.options.with_testing)
        toolchain.cache_variables["DOCLOCK_WITH_SQLITE"] = bool(self.options.with_sqlite)
        # The package has no command, and its libraries are linked to the drivers.
        toolchain.cache_variables["DOCLOCK_STORE_MODULES"] = "OFF"
        # Not by what lies on the machine.
        toolchain.cache_variables["DOCLOCK_WITH_MONGODB"] = "ON" if self.options.with_mongodb else "OFF"
        toolchain.cache_variables["DOCLOCK_WITH_POSTGRESQL"] = "ON" if self.options.with_postgresql else "OFF"
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        # Conan writes its own.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))
        rmdir(self, os.path.join(self.package_folder, "share", "doc"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "doclock")
        # The component "umbrella" is doclock::doclock; this name is for all there is, doclock::testing included.
        self.cpp_info.set_property("cmake_target_name", "doclock::all")

        def component(name, library, target, pkg_config, requires):
            info = self.cpp_info.components[name]
            info.set_property("cmake_target_name", target)
            info.set_property("pkg_config_name", pkg_config)
            info.libs = [library]
            info.requires = requires
            if self.options.shared and self.settings.os == "Windows":
                info.defines = ["DOCLOCK_SHARED"]
            return info

        core = component(
            "core", "doclock_core", "doclock::core", "doclock-core",
            ["boost::headers", "nlohmann_json::nlohmann_json"])
        if self.settings.os in ("Linux", "FreeBSD"):
            core.system_libs = ["pthread"]
        umbrella = ["core"]
        if self.options.with_sqlite:
            component("sqlite", "doclock_sqlite", "doclock::sqlite", "doclock-sqlite", ["core", "sqlite3::sqlite3"])
            umbrella.append("sqlite")
        if self.options.with_mongodb:
            component("mongodb", "doclock_mongodb", "doclock::mongodb", "doclock-mongodb",
                      ["core", "mongo-c-driver::mongoc"])
            umbrella.append("mongodb")
        if self.options.with_postgresql:
            component("postgresql", "doclock_postgresql", "doclock::postgresql", "doclock-postgresql",
                      ["core", "libpq::libpq"])
            umbrella.append("postgresql")
        if self.options.with_testing:
            component("testing", "doclock_testing", "doclock::testing", "doclock-testing", ["core"])
        component("umbrella", "doclock", "doclock::doclock", "doclock", umbrella)
