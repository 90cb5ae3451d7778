#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/json/lock_json.h"
#include "cli/options/durations.h"
#include "cli/options/options.h"
#include "cli/output/exit_codes.h"
#include "cli/output/messages.h"

#ifdef DOCLOCK_CLI_HAS_CURSES
// Its macros would hide the functions, and do not take a leading ::.
#define NCURSES_NOMACROS
#include <curses.h>
#endif

namespace doclock::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::array<std::string_view, 5> kOrders{"age", "name", "holder", "left", "wait"};

struct TopOptions {
  std::string prefix;
  std::string sort = "age";  ///< One of kOrders.
  Duration interval = std::chrono::seconds(2);
};

#ifdef DOCLOCK_CLI_HAS_CURSES

/// The width of the columns besides name and holder, with a blank before each.
constexpr std::size_t kColumnsWidth = 42;

volatile std::sig_atomic_t ended_by = 0;

/// The text in exactly this many characters.
std::string Fitted(std::string_view printable, std::size_t width) {
  std::string text(printable);
  while (WidthOf(text) > width) text.pop_back();  // the rest of a character takes no width
  return text.append(width - WidthOf(text), ' ');
}

/// @param cells the name, the holder, and what has a column of its own width
std::string TableLine(std::size_t columns, const std::array<std::string, 7>& cells) {
  char rest[256];
  std::snprintf(rest, sizeof rest, " %4s %-9s %-8s %-8s %-8s", cells[2].c_str(), cells[3].c_str(),
                cells[4].c_str(), cells[5].c_str(), cells[6].c_str());
  const std::size_t room = columns > kColumnsWidth ? columns - kColumnsWidth : 0;
  const std::size_t width = room * 3 / 5;
  return Fitted(Fitted(cells[0], width) + ' ' + Fitted(cells[1], room - width) + rest, columns);
}

std::string TableLineOf(std::size_t columns, const LockStatus& lock) {
  std::string left = lock.expired ? "expired" : DurationText(lock.remaining);
  if (lock.malformed) left = "malformed";
  // A store without a queue knows of no waiters, so there is no zero to show.
  return TableLine(columns,
                   {Printable(lock.name), Printable(lock.holder.ToString()),
                    lock.waiting > 0 ? std::to_string(lock.waiting) : "-", ModeOf(lock), left,
                    DurationText(lock.age), lock.fence ? std::to_string(*lock.fence) : "?"});
}

/// What the screen shows.
class TopPage {
 public:
  TopPage(std::string collection, std::string_view order)
      : collection_(std::move(collection)),
        order_(static_cast<std::size_t>(std::find(kOrders.begin(), kOrders.end(), order) -
                                        kOrders.begin())) {}

  /// Takes what the store shows now.
  void Update(const LockProvider& locks, const LockFilter& filter) {
    try {
      locks_ = locks.Admin().Status(filter);
      failure_.clear();
    } catch (const Error& error) {
      failure_ = error.what();
    }
  }
  void NextOrder() noexcept { order_ = (order_ + 1) % kOrders.size(); }
  void Scroll(int by) noexcept { first_ = std::max(first_ + by, 0); }
  void Show() {
    const auto rows = static_cast<std::size_t>(std::max(::getmaxy(stdscr), 4));
    const auto columns = static_cast<std::size_t>(::getmaxx(stdscr));
    Sort();
    const std::size_t room = rows - 4;  // title, summary, head and keys
    const std::size_t last = locks_.size() > room ? locks_.size() - room : 0;
    first_ = std::min(first_, static_cast<int>(last));
    ::werase(stdscr);
    const auto show = [&](std::size_t row, const std::string& line) {
      ::mvwaddstr(stdscr, static_cast<int>(row), 0, Fitted(line, columns).c_str());
    };
    show(0, "doclock top: " + collection_);
    show(1, Summary());
    ::wattr_on(stdscr, A_REVERSE, nullptr);
    show(2, TableLine(columns, {"NAME", "HOLDER", "WAIT", "MODE", "LEFT", "AGE", "FENCE"}));
    ::wattr_off(stdscr, A_REVERSE, nullptr);
    const auto first = static_cast<std::size_t>(first_);
    for (std::size_t i = 0; i < std::min(room, locks_.size() - first); ++i) {
      show(3 + i, TableLineOf(columns, locks_[first + i]));
    }
    show(rows - 1, "q quit   s sort   arrows scroll");
    ::wrefresh(stdscr);
  }

 private:
  void Sort() {
    const std::string_view order = kOrders.at(order_);
    std::stable_sort(locks_.begin(), locks_.end(), [&](const LockStatus& a, const LockStatus& b) {
      if (order == "age") return a.age > b.age;
      if (order == "holder") return a.holder.ToString() < b.holder.ToString();
      if (order == "left") return a.remaining < b.remaining;
      if (order == "wait") return a.waiting > b.waiting;
      return a.key < b.key;
    });
  }
  [[nodiscard]] std::string Summary() const {
    if (!failure_.empty()) return Printable(failure_);
    const auto expired = std::count_if(locks_.begin(), locks_.end(),
                                       [](const LockStatus& lock) { return lock.expired; });
    return std::to_string(locks_.size() - static_cast<std::size_t>(expired)) + " held, " +
           std::to_string(expired) + " expired, sorted by " + std::string(kOrders.at(order_));
  }

  const std::string collection_;
  std::size_t order_;
  std::string failure_;  ///< Shown instead of the number of locks: the store did not answer.
  int first_ = 0;        ///< The first lock that is shown, in the present order.
  std::vector<LockStatus> locks_;
};

/// The whole terminal, until the object goes: then it shows again what it showed before. SIGINT,
/// SIGTERM and SIGHUP only set `ended_by` meanwhile.
class Screen {
 public:
  Screen() {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
      std::signal(number, [](int caught) { ended_by = caught; });
    }
    // Without it characters beyond ASCII are not shown.
    std::setlocale(LC_CTYPE, "");
    // initscr() would end the program if the terminal is not known.
    if (::newterm(nullptr, stdout, stdin) == nullptr) {
      throw std::invalid_argument("top: this terminal cannot be used ($TERM); use status or list");
    }
    ::cbreak();
    ::noecho();
    ::keypad(stdscr, TRUE);
    ::wtimeout(stdscr, 100);  // milliseconds, to wait for a key
    ::curs_set(0);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() {
    ::curs_set(1);
    ::endwin();
  }
};

int ShowLocks(const LockProvider& locks, const std::string& collection, const TopOptions& options) {
  const Screen screen;
  TopPage page(collection, options.sort);
  LockFilter filter;
  filter.name_prefix = options.prefix;
  for (auto next = SteadyClock::now(); ended_by == 0;) {
    if (SteadyClock::now() >= next) {
      page.Update(locks, filter);
      next = SteadyClock::now() + options.interval.ms();
    }
    page.Show();
    const int key = ::wgetch(stdscr);
    if (key == 'q') return kOk;
    if (key == 's') page.NextOrder();
    if (key == KEY_UP || key == KEY_DOWN) page.Scroll(key == KEY_UP ? -1 : 1);
  }
  return kSignalBase + ended_by;
}

#else

int ShowLocks(const LockProvider&, const std::string&, const TopOptions&) {
  throw std::invalid_argument("top: this build has no ncurses; use status --watch");
}

#endif

int Top(const Context& context, const TopOptions& options) {
  if (context.json) throw std::invalid_argument("top: there is no --json; use status --json");
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) {
    throw std::invalid_argument("top: needs a terminal; without one use status or list");
  }
  return ShowLocks(LockProvider(context.manager(), context.collection), context.collection,
                   options);
}

}  // namespace

Action AddTop(CLI::App& sub) {
  const auto options = std::make_shared<TopOptions>();
  AddText(sub, "--prefix", options->prefix, "Only names with this prefix", kMaxKeyBytes);
  const auto check = [](std::string& text) -> std::string {
    const bool known = std::find(kOrders.begin(), kOrders.end(), text) != kOrders.end();
    return known ? "" : "must be age, name, holder, left or wait";
  };
  sub.add_option("--sort", options->sort, "Order of the locks")
      ->check(CLI::Validator(check, "", ""))
      ->type_name("age|name|holder|left|wait")
      ->capture_default_str();
  AddDuration(sub, "--interval", options->interval, "How often to look (default: 2s)", kIntervals);
  sub.footer(
      "Keys: q quits, s sorts by the next column, arrows scroll.\n\n"
      "Example: doclock top --prefix reports/ --sort left");
  return [options](const Context& context) { return Top(context, *options); };
}

}  // namespace doclock::cli
