// Locks in Boost.Asio coroutines: waiting for one holds no thread.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <string>

#include "doclock/doclock.h"

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct Account {
  std::string id;
  int balance = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Account, id, balance)

namespace {

asio::awaitable<void> Deposit(const doclock::LockingRepository<Account>& accounts, int amount) {
  // A variable, not a temporary inside the co_await expression below: GCC 12 destroys some
  // temporaries there twice.
  const Account fresh{"ann", 0};
  auto account = co_await accounts.LockAsync(fresh, {.wait = 5s}, asio::use_awaitable);

  // Other coroutines run on this thread meanwhile, and those that want this account stand in line.
  asio::steady_timer bank{co_await asio::this_coro::executor, 10ms};
  co_await bank.async_wait(asio::use_awaitable);

  account->balance += amount;
  co_await account.ReleaseAsync(asio::use_awaitable);
}

}  // namespace

int main() {
  asio::io_context context;
  const doclock::LockManager manager{doclock::OpenStore("memory:")};
  const doclock::LockingRepository<Account> accounts{manager, "accounts"};

  for (int i = 0; i < 10; ++i) {
    // Handlers run on the context's own thread, this one. What a coroutine throws goes on to here.
    asio::co_spawn(context, Deposit(accounts, 10), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);
    });
  }
  context.run();

  const int balance = (*accounts.Find("ann"))->balance;
  std::cout << "balance: " << balance << '\n';
  return balance == 100 ? 0 : 1;
}
