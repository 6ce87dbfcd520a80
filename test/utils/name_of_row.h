// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <string>

namespace executorch::testing {

/// Names the tests of INSTANTIATE_TEST_SUITE_P by the `name` of their parameters.
struct NameOfRow {
  template <typename Info>
  std::string operator()(const Info& info) const {
    return info.param.name;
  }
};

}  // namespace executorch::testing
