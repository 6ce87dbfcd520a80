// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The system's <unistd.h>, under its documented path.
#pragma once

#include <unistd.h>
