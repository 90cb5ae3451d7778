# Builds doclock over the libraries of the operating system, without any remote:
#   conan create packaging/conan/boost -nr -pr:a packaging/conan/system.profile    (and nlohmann_json, sqlite3,
#   mongo-c-driver, libpq)
#   conan create . -nr -pr:a packaging/conan/system.profile
include(default)

[settings]
compiler.cppstd=20

[replace_requires]
boost/*: boost/system
nlohmann_json/*: nlohmann_json/system
sqlite3/*: sqlite3/system
mongo-c-driver/*: mongo-c-driver/system
libpq/*: libpq/system
