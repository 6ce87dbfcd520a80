# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# cmake -DFOLDER=… -DHEADER=… -P engine_digest.cmake: writes a header with a digest of the engine's sources, which identifies
# the format of packed weights.
file(GLOB_RECURSE sources ${FOLDER}/*.cpp ${FOLDER}/*.h ${FOLDER}/*.inc)
list(SORT sources)
set(digests)
foreach(source ${sources})
  file(SHA256 ${source} digest)
  string(APPEND digests ${digest})
endforeach()
string(SHA256 digest "${digests}")
file(WRITE ${HEADER} "#define EXECUTORCH_ENGINE_DIGEST \"${digest}\"\n")
