#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "doclock/errors.h"

namespace doclock::cli {

/// The text on one line, as a terminal may show it: control characters and bytes that are not UTF-8
/// are written \x1b. Other programs choose names and owners, which may hold anything.
std::string Printable(std::string_view text);

/// A word of the command line in quotation marks, cut where it is long. One that may be or hold a
/// URL, and with it a password, is not repeated: '...'.
std::string Quoted(std::string_view word);

/// The text as one word for the shell, whatever characters it holds.
std::string ShellWord(std::string_view text);

/// Columns that a printable text takes: its characters.
std::size_t WidthOf(std::string_view printable) noexcept;

/// Writes "doclock: " and the text to standard error, printable. A "doclock: " that the library put
/// into its message is left out.
void Tell(std::string_view text);

/// Writes the error's text, without the name of its code if that would only repeat the text.
void Tell(const Error& error);

}  // namespace doclock::cli
