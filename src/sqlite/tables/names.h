#pragma once

#include <string>
#include <string_view>

namespace doclock::sqlite {

/// The name of a collection's table of documents begins so, ...
inline constexpr std::string_view kDocumentsPrefix = "doclock_c_";
/// ... and that of its table of locks so.
inline constexpr std::string_view kLocksPrefix = "doclock_l_";

/// A name between double quotes, for any statement.
std::string Quoted(std::string_view name);

/// SQLite takes "Orders" and "orders" for the same table; collections differ. Upper-case letters
/// become "^" and the lower-case one, so that names stay readable.
std::string CaseSafe(std::string_view name);

/// Undoes CaseSafe.
std::string OriginalCase(std::string_view safe);

}  // namespace doclock::sqlite
