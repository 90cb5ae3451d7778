#include "cli/commands/top.h"

#include <unistd.h>

#include <stdexcept>

#include "cli/output/exit_codes.h"
#include "cli/output/top_page.h"
#include "cli/process/screen.h"

namespace doclock::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

void CheckTerminal(bool as_json) {
  if (as_json) throw std::invalid_argument("top: there is no --json; use status --json");
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) return;
  throw std::invalid_argument("top: needs a terminal; without one use status or list");
}

/// Takes the text of the filter, key by key.
class FilterInput {
 public:
  /// True: the key belonged to the filter.
  bool Take(int key, TopPage& page) {
    if (!typing_) {
      typing_ = key == '/';
      if (typing_) page.SetFilter("");
      return typing_;
    }
    std::string text = page.filter();
    if (key == Screen::kEnter || key == Screen::kEscape) {
      typing_ = false;
    } else if (key == Screen::kBackspace) {
      if (!text.empty()) text.pop_back();
    } else if (key >= ' ' && key < 0x7f) {
      text += static_cast<char>(key);
    }
    page.SetFilter(key == Screen::kEscape ? "" : std::move(text));
    return true;
  }

 private:
  bool typing_ = false;
};

/// False: the user quits.
bool Handle(int key, TopPage& page, FilterInput& filter) {
  if (filter.Take(key, page)) return true;
  if (key == 's') page.NextOrder();
  if (key == Screen::kUp) page.Scroll(-1);
  if (key == Screen::kDown) page.Scroll(1);
  return key != 'q';
}

void Look(const LockProvider& locks, const std::string& prefix, TopPage& page) {
  LockFilter filter;
  filter.name_prefix = prefix;
  try {
    page.Update(locks.Admin().Status(filter), SteadyClock::now());
  } catch (const Error& error) {
    page.Fail(error.what());
  }
}

/// Returns the signal that ended it; 0: the user quits.
int ShowLocks(const LockProvider& locks, const TopOptions& options, Screen& screen) {
  TopPage page(options.collection, options.sort);
  FilterInput filter;
  auto next = SteadyClock::now();
  for (;;) {
    if (SteadyClock::now() >= next) {
      Look(locks, options.prefix, page);
      next = SteadyClock::now() + options.interval.ms();
    }
    screen.Show(page.Lines(screen.rows(), screen.columns()));
    const int key = screen.Key();
    if (const int signal = Screen::signal(); signal != 0) return signal;
    if (!Handle(key, page, filter)) return 0;
  }
}

}  // namespace

int Top(const std::function<std::shared_ptr<Store>()>& open, const TopOptions& options) {
  CheckTerminal(options.json);
  const LockProvider locks(LockManager(open()), options.collection);
  Screen screen;
  const int signal = ShowLocks(locks, options, screen);
  return signal == 0 ? kOk : kSignalBase + signal;
}

}  // namespace doclock::cli
