// In front of every snippet.
#include <doclock/doclock.h>

#include <algorithm>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

using namespace std::chrono_literals;
