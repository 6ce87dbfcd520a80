// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The typed entry points of the portable kernels, for tests: torch::executor::aten::add_outf().
#pragma once

#include <executorch/kernels/portable/Functions.h>
