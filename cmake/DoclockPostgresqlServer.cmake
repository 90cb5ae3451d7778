# A PostgreSQL server as a CTest fixture: started once before the first test that needs it, stopped after the last, each
# build tree with its own folder and port. If it cannot be started, the test that starts it fails, and the tests that need
# it do not run.
#
#   doclock_postgresql           the server
#   doclock_postgresql_failover  another one, for tests that kill it
#
# The tests start standbys themselves, on the five ports behind those.
#
# doclock_postgresql_urls is a list of compile definitions with their URLs, for the tests' programs.

set(DOCLOCK_TEST_POSTGRESQL_PORT "" CACHE STRING "First of seven ports for the tests' PostgreSQL servers (empty: by the build folder's name)")
set(doclock_postgresql_port "${DOCLOCK_TEST_POSTGRESQL_PORT}")
if(NOT doclock_postgresql_port)
  # Below the ports that systems give out by themselves, and above those of the MongoDB servers.
  string(SHA256 hash "${PROJECT_BINARY_DIR}")
  string(SUBSTRING "${hash}" 0 6 hash)
  math(EXPR doclock_postgresql_port "31700 + (0x${hash} % 140) * 7")
endif()
set(doclock_postgresql_script "${PROJECT_SOURCE_DIR}/scripts/postgresql.sh")
set(doclock_postgresql_urls)

# doclock_postgresql_fixture(<name> <definition> <offset of its port>)
function(doclock_postgresql_fixture name definition offset)
  math(EXPR port "${doclock_postgresql_port} + ${offset}")
  set(home "${PROJECT_BINARY_DIR}/${name}")
  set(run ${CMAKE_COMMAND} -E env "DOCLOCK_POSTGRESQL_HOME=${home}" DOCLOCK_POSTGRESQL_PORT=${port} "${doclock_postgresql_script}")
  add_test(NAME ${name}_start COMMAND ${run} start --fresh)
  add_test(NAME ${name}_stop COMMAND ${run} stop)
  set_tests_properties(${name}_start PROPERTIES FIXTURES_SETUP doclock_${name} TIMEOUT 600 LABELS "postgresql;servers")
  set_tests_properties(${name}_stop PROPERTIES FIXTURES_CLEANUP doclock_${name} TIMEOUT 600 LABELS "postgresql;servers")
  list(APPEND doclock_postgresql_urls "${definition}_URL=\"postgresql://postgres@127.0.0.1:${port}/postgres\""
       "${definition}_HOME=\"${home}\"" "${definition}_PORT=\"${port}\"")
  set(doclock_postgresql_urls "${doclock_postgresql_urls}" PARENT_SCOPE)
endfunction()

doclock_postgresql_fixture(postgresql DOCLOCK_POSTGRESQL 0)
doclock_postgresql_fixture(postgresql_failover DOCLOCK_POSTGRESQL_FAILOVER 1)
