// What the interface depends on besides doclock's own headers. The build preprocesses this file,
// and the records become the installed header doclock_built_with.h: see
// include/doclock/export.h. The library has no code of Asio, so Asio's options are the
// program's own.
#include <boost/version.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#define DOCLOCK_VERBATIM(text) #text
#define DOCLOCK_VALUE(macro) DOCLOCK_VERBATIM(macro)
#define DOCLOCK_RECORD(macro) DOCLOCK_RECORD #macro DOCLOCK_VALUE(macro)

DOCLOCK_RECORD(_LIBCPP_ABI_NAMESPACE)
DOCLOCK_RECORD(_GLIBCXX_USE_CXX11_ABI)
DOCLOCK_RECORD(_GLIBCXX_DEBUG)
DOCLOCK_RECORD(BOOST_VERSION)
DOCLOCK_RECORD(BOOST_UUID_DISABLE_ALIGNMENT)
DOCLOCK_RECORD(JSON_DIAGNOSTICS)
DOCLOCK_RECORD(JSON_DIAGNOSTIC_POSITIONS)
DOCLOCK_RECORD(JSON_NOEXCEPTION)
DOCLOCK_RECORD(NLOHMANN_JSON_NAMESPACE)
