import importlib.util
import os
import re

from conan.tools.cmake import cmake_layout
from conan.tools.files import load

required_conan_version = ">=2.4"

RECIPE = "recipes/doclock/all/conanfile.py"


def recipe_of_conan_center():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), RECIPE)
    spec = importlib.util.spec_from_file_location("doclock_recipe", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.DoclockConan


class DoclockConan(recipe_of_conan_center()):
    """The recipe for Conan Center, over the sources in this folder."""

    exports = RECIPE
    test_package_folder = "recipes/doclock/all/test_package"
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "tests/conformance/suite/*"

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "CMakeLists.txt"))
        self.version = re.search(r"^ *VERSION ([0-9.]+)$", text, re.MULTILINE).group(1)

    def layout(self):
        cmake_layout(self)

    def source(self):
        pass  # they are exported
