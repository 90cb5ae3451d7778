#include "host/guest/settings.h"

#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cfenv>
#include <locale>
#include <stdexcept>
#include <utility>

#include "sqlite/support/load.h"

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#ifdef DOCLOCK_WITH_SQLITE
#include <sqlite3.h>
#endif

namespace doclock::host_test {
namespace {

void Check(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string("cannot set ") + what);
}

/// For C, and for streams of C++: these group digits, too.
void SetLocale(const char* name) {
  std::locale::global(std::locale(name));
  Check(::setlocale(LC_ALL, name) != nullptr, name);
}

void SetThreadLocale() {
  const locale_t locale = ::newlocale(LC_ALL_MASK, "de_DE.UTF-8", nullptr);
  Check(locale != nullptr, "the thread's locale");
  ::uselocale(locale);
}

void CloseStandardDescriptors() {
  for (const int number : {0, 1, 2}) ::close(number);
}

void LeaveFewDescriptors() {
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(next);
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = static_cast<rlim_t>(next) + 80;
  Check(::setrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit of descriptors");
}

void Handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // without SA_RESTART
  Check(::sigaction(number, &action, nullptr) == 0, "a handler");
}

/// Every system call may end with EINTR.
void RaiseAlarms() {
  Handle(SIGALRM, [](int) {});
  const itimerval often{{0, 500}, {0, 500}};
  Check(::setitimer(ITIMER_REAL, &often, nullptr) == 0, "an alarm");
}

void BlockSignals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

void IgnoreSignals() {
  for (const int number : {SIGCHLD, SIGPIPE, SIGHUP, SIGALRM}) Handle(number, SIG_IGN);
}

/// Of musl, for example; a sanitizer needs more.
void MakeStacksSmall() {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  constexpr std::size_t kBytes = std::size_t{sqlite_test::kSanitized ? 1024 : 128} * 1024;
  ::pthread_attr_setstacksize(&attributes, kBytes);
  Check(::pthread_setattr_default_np(&attributes) == 0, "the size of stacks");
  ::pthread_attr_destroy(&attributes);
}

void ChangeFolder() {
  ::mkdir("elsewhere", 0700);
  Check(::chdir("elsewhere") == 0, "the folder");
}

void SpoilEnvironment() {
  for (const char* name : {"HOME", "USER", "PATH"}) ::unsetenv(name);
  for (const char* name : {"TMPDIR", "SQLITE_TMPDIR", "XDG_RUNTIME_DIR"}) {
    ::setenv(name, "/nonexistent/folder", 1);
  }
  ::setenv("PGOPTIONS", "-c default_transaction_isolation=serializable", 1);
  ::setenv("PGDATESTYLE", "German", 1);
  ::setenv("PGTZ", "Pacific/Kiritimati", 1);
  ::setenv("PGCLIENTENCODING", "LATIN1", 1);
  ::setenv("TZ", "Pacific/Kiritimati", 1);
  ::setenv("LC_ALL", "de_DE.UTF-8", 1);
  ::setenv("LANG", "fa_IR.UTF-8", 1);
}

void Round() {
  std::fesetround(FE_UPWARD);
#ifdef __SSE__
  _mm_setcsr(_mm_getcsr() | 0x8040);  // denormals are zero
#endif
}

#ifdef DOCLOCK_WITH_SQLITE
/// They are refused once SQLite is in use; that is the program's affair.
void ConfigureForOneThreadAtATime() {
  sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  sqlite3_config(SQLITE_CONFIG_URI, 1);
  sqlite3_config(SQLITE_CONFIG_MMAP_SIZE, sqlite3_int64{1} << 30, sqlite3_int64{1} << 30);
}

void LimitHeap() { sqlite3_soft_heap_limit64(1024 * 1024); }

int AddFunction(sqlite3* database, char**, const sqlite3_api_routines*) {
  return sqlite3_create_function(
      database, "of_the_host", 0, SQLITE_UTF8, nullptr,
      [](sqlite3_context* context, int, sqlite3_value**) { sqlite3_result_int(context, 1); },
      nullptr, nullptr);
}

void LoadExtension() { sqlite3_auto_extension(reinterpret_cast<void (*)()>(&AddFunction)); }

void ShareCache() { sqlite3_enable_shared_cache(1); }

void TakeFilesWithoutLocks() {
  sqlite3_vfs* const without = sqlite3_vfs_find("unix-none");
  Check(without != nullptr && sqlite3_vfs_register(without, 1) == SQLITE_OK, "the files' locks");
}

/// Only while no connection is open.
void UseSqliteBefore() {
  static bool used = false;
  if (std::exchange(used, true)) return;
  sqlite3_initialize();
  sqlite3_shutdown();
}
#endif

}  // namespace

const std::map<std::string, Setting>& Settings() {
  static const std::map<std::string, Setting> settings = {
      {"nothing", {[] {}}},
      {"a decimal comma", {[] { SetLocale("de_DE.UTF-8"); }}},
      {"a decimal point of two bytes", {[] { SetLocale("fa_IR.UTF-8"); }}},
      {"an i without its dot", {[] { SetLocale("tr_TR.UTF-8"); }}},
      {"a locale of the thread", {&SetThreadLocale}},
      {"files for everyone", {[] { ::umask(0); }}},
      {"closed standard descriptors", {&CloseStandardDescriptors}},
      {"few descriptors", {&LeaveFewDescriptors}},
      {"alarms", {&RaiseAlarms}},
      {"blocked signals", {&BlockSignals}},
      {"ignored signals", {&IgnoreSignals}},
      {"small stacks", {&MakeStacksSmall}},
      {"another environment", {&SpoilEnvironment}},
      {"another folder", {&ChangeFolder}},
      {"rounding", {&Round}},
#ifdef DOCLOCK_WITH_SQLITE
      {"SQLite's configuration", {&ConfigureForOneThreadAtATime, true}},
      {"SQLite's heap limit", {&LimitHeap, true}},
      {"SQLite's extensions", {&LoadExtension, true}},
      {"SQLite's shared cache", {&ShareCache, true}},
      {"SQLite's files without locks", {&TakeFilesWithoutLocks, true}},
      {"SQLite used before", {&UseSqliteBefore, true}},
#endif
  };
  return settings;
}

}  // namespace doclock::host_test
