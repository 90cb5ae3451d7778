#ifdef DOCLOCK_CLI_LINKS_MONGODB

#include <mongoc/mongoc.h>

namespace doclock::cli {
namespace {

/// libmongoc writes its log to the standard streams, which belong to the command; problems that
/// matter are reported as errors. It may do so when the program is loaded, before main() and even
/// if no MongoDB store is used: a function of .preinit_array runs before that.
__attribute__((no_sanitize("address", "undefined"))) void SilenceDriver(int, char**, char**) {
  mongoc_log_set_handler(nullptr, nullptr);
}

__attribute__((section(".preinit_array"), used)) void (*const silence)(int, char**,
                                                                       char**) = &SilenceDriver;

}  // namespace
}  // namespace doclock::cli

#endif
