# MongoDB servers as CTest fixtures: started once before the first test that needs one, stopped after the last, each build
# tree with its own folder and ports. If no server can be started, the test that starts them fails, and the tests that
# need them do not run.
#
#   doclock_mongodb_set          a replica set of three
#   doclock_mongodb_standalone   a server alone
#   doclock_mongodb_failover     another set, for tests that kill its members
#   doclock_mongodb_auth         a set of one, which requires authentication
#   doclock_mongodb_tls          a server alone that takes TLS only, with a CA of its own
#
# doclock_mongodb_uris is a list of compile definitions with their URIs, for the tests' programs; doclock_mongodb_tls
# has those of the one that takes TLS, and of the folder of its certificates.

set(DOCLOCK_TEST_MONGO_PORT "" CACHE STRING "First of nine ports for the tests' MongoDB servers (empty: by the build folder's name)")
set(doclock_mongo_port "${DOCLOCK_TEST_MONGO_PORT}")
if(NOT doclock_mongo_port)
  # Below the ports that systems give out by themselves.
  string(SHA256 hash "${PROJECT_BINARY_DIR}")
  string(SUBSTRING "${hash}" 0 6 hash)
  math(EXPR doclock_mongo_port "20000 + (0x${hash} % 1300) * 9")
endif()
set(doclock_mongo_script "${PROJECT_SOURCE_DIR}/scripts/mongo.sh")
set(doclock_mongodb_uris)

# doclock_mongo_fixture(<name> <offset of its first port> [arguments of mongo.sh...])
function(doclock_mongo_fixture name offset)
  math(EXPR port "${doclock_mongo_port} + ${offset}")
  set(home "${PROJECT_BINARY_DIR}/mongo/${name}")
  set(run ${CMAKE_COMMAND} -E env "DOCLOCK_MONGO_HOME=${home}" DOCLOCK_MONGO_PORT=${port} "${doclock_mongo_script}")
  add_test(NAME mongodb_${name}_start COMMAND ${run} start --fresh ${ARGN})
  add_test(NAME mongodb_${name}_stop COMMAND ${run} stop ${ARGN})
  set_tests_properties(mongodb_${name}_start PROPERTIES FIXTURES_SETUP doclock_mongodb_${name} TIMEOUT 900 LABELS "mongodb;servers")
  set_tests_properties(mongodb_${name}_stop PROPERTIES FIXTURES_CLEANUP doclock_mongodb_${name} TIMEOUT 600 LABELS "mongodb;servers")
  math(EXPR second "${port} + 1")
  math(EXPR third "${port} + 2")
  if("--standalone" IN_LIST ARGN)
    math(EXPR fourth "${port} + 3")
    set(uri "mongodb://127.0.0.1:${fourth}/?directConnection=true")
  elseif("--tls" IN_LIST ARGN)
    math(EXPR ninth "${port} + 8")
    set(tls "${home}/${ninth}/tls")
    set(uri "mongodb://localhost:${ninth}/?directConnection=true&tls=true&tlsCAFile=${tls}/ca.pem")
    set(doclock_mongodb_tls "DOCLOCK_MONGODB_TLS_URI=\"${uri}\"" "DOCLOCK_MONGODB_TLS_FILES=\"${tls}\"" PARENT_SCOPE)
    return()
  elseif("--auth" IN_LIST ARGN)
    math(EXPR eighth "${port} + 7")
    set(uri "mongodb://127.0.0.1:${eighth}/?replicaSet=doclock")
  else()
    set(uri "mongodb://127.0.0.1:${port},127.0.0.1:${second},127.0.0.1:${third}/?replicaSet=doclock")
  endif()
  string(TOUPPER "${name}" upper)
  list(APPEND doclock_mongodb_uris "DOCLOCK_MONGODB_${upper}_URI=\"${uri}\"" "DOCLOCK_MONGODB_${upper}_HOME=\"${home}\"")
  set(doclock_mongodb_uris "${doclock_mongodb_uris}" PARENT_SCOPE)
endfunction()

doclock_mongo_fixture(set 0)
doclock_mongo_fixture(standalone 0 --standalone)
doclock_mongo_fixture(failover 4)
doclock_mongo_fixture(auth 0 --auth)
doclock_mongo_fixture(tls 0 --tls)
