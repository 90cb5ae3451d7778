#include "cli/process/screen.h"

#include <stdexcept>

#ifdef DOCLOCK_CLI_HAS_CURSES
#include <clocale>
#include <cstdio>

// Its macros would hide the functions, and do not take a leading ::.
#define NCURSES_NOMACROS
#include <curses.h>
#endif

namespace doclock::cli {

#ifdef DOCLOCK_CLI_HAS_CURSES

namespace {

constexpr int kWaitMs = 100;
constexpr int kHeading = 2;
constexpr int kEscapeCharacter = 27, kDelete = 127;

}  // namespace

Screen::Screen() {
  // Without it characters beyond ASCII are not shown.
  std::setlocale(LC_CTYPE, "");
  // initscr() would end the program if the terminal is not known.
  if (::newterm(nullptr, stdout, stdin) == nullptr) {
    throw std::invalid_argument("top: this terminal cannot be used ($TERM); use status or list");
  }
  ::cbreak();
  ::noecho();
  ::nonl();
  ::set_escdelay(kWaitMs);
  ::keypad(stdscr, TRUE);
  ::wtimeout(stdscr, kWaitMs);
  ::curs_set(0);
}

Screen::~Screen() {
  ::curs_set(1);
  ::endwin();
}

std::size_t Screen::rows() const noexcept { return static_cast<std::size_t>(::getmaxy(stdscr)); }

std::size_t Screen::columns() const noexcept { return static_cast<std::size_t>(::getmaxx(stdscr)); }

void Screen::Show(const std::vector<std::string>& lines) {
  ::werase(stdscr);
  for (int row = 0; row < static_cast<int>(lines.size()); ++row) {
    if (row == kHeading) ::wattr_on(stdscr, A_REVERSE, nullptr);
    ::mvwaddstr(stdscr, row, 0, lines[static_cast<std::size_t>(row)].c_str());
    if (row == kHeading) ::wattr_off(stdscr, A_REVERSE, nullptr);
  }
  ::wrefresh(stdscr);
}

int Screen::Key() {
  switch (const int key = ::wgetch(stdscr)) {
    case KEY_UP:
      return kUp;
    case KEY_DOWN:
      return kDown;
    case KEY_ENTER:
    case '\r':
    case '\n':
      return kEnter;
    case KEY_BACKSPACE:
    case '\b':
    case kDelete:
      return kBackspace;
    case kEscapeCharacter:
      return kEscape;
    default:
      return key >= ' ' && key < kDelete ? key : kNone;
  }
}

#else

Screen::Screen() {
  throw std::invalid_argument("top: this build has no ncurses; use status --watch");
}

Screen::~Screen() = default;

std::size_t Screen::rows() const noexcept { return 0; }

std::size_t Screen::columns() const noexcept { return 0; }

void Screen::Show(const std::vector<std::string>&) {}

int Screen::Key() { return kNone; }

#endif

}  // namespace doclock::cli
