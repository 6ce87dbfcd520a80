// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <backends/xnnpack/payload/shape_rows.h>

namespace executorch::backends::xnnpack {

std::vector<Row> elementwise_rows() {
  const Kind add = Kind::Add, softmax = Kind::Softmax;
  return {
      {"Unary", Kind::Tanh, {{2, 3}}, {0, kOut}, {}, {2, 3}},
      {"ASmallerResultThanDeclared", Kind::Tanh, {{2, 3}}, {0, kOut}, {}, {2, 3}, {4, 3}},
      {"ALargerResultThanDeclared", Kind::Tanh, {{2, 3}}, {0, kOut}, {}, {}, {2, 2}},
      {"AResultOfAnotherRank", Kind::Tanh, {{2, 3}}, {0, kOut}, {}, {}, {2, 3, 1}},
      {"AnOperandThatIsMadeLater", Kind::Tanh, {{2, 3}}, {kOut, kOut}, {}, {}},
      {"AResultThatIsAnInput", Kind::Tanh, {{2, 3}}, {0, 0}, {}, {}},
      {"Softmax", softmax, {{2, 3}}, {0, kOut}, {}, {2, 3}},
      {"SoftmaxOfANumber", softmax, {{}}, {0, kOut}, {}, {}},
      {"SoftmaxOfNothing", softmax, {{2}}, {kOut, kOut}, {}, {}},
      {"LeakyReLU", Kind::LeakyReLU, {{2}}, {0, 0, kOut}, {}, {2}},
      {"ELU", Kind::ELU, {{2}}, {0, 0, kOut}, {}, {2}},
      {"Broadcast", add, {{2, 1}, {3}}, {0, 1, kOut}, {}, {2, 3}},
      {"BroadcastTheOtherWay", add, {{3}, {2, 1}}, {0, 1, kOut}, {}, {2, 3}},
      {"NoBroadcast", add, {{2, 2}, {3}}, {0, 1, kOut}, {}, {}},
      {"ASumWithNothing", add, {{2}}, {0, kOut, kOut}, {}, {}},
      {"NothingInASum", add, {{2}}, {kOut, 0, kOut}, {}, {}},
  };
}

std::vector<Row> product_rows() {
  const Kind linear = Kind::FullyConnected, batch = Kind::BatchMatrixMultiply;
  const Kind attention = Kind::ScaledDotProductAttention;
  const Dims query = {1, 2, 5, 4}, key = {1, 2, 3, 4}, value = {1, 2, 3, 6};
  const std::vector<uint32_t> ids = {0, 1, 2, 3, 4, kOut};
  return {
      {"Linear", linear, {{2, 4}, {3, 4}, {3}}, {0, 1, 2, kOut}, {}, {2, 3}},
      {"LinearWithoutBias", linear, {{2, 4}, {3, 4}}, {0, 1, kNoId, kOut}, {}, {2, 3}},
      {"LinearTransposed", linear, {{2, 4}, {4, 3}}, {0, 1, kNoId, kOut, kTransposed}, {}, {2, 3}},
      {"LinearOfOtherChannels", linear, {{2, 5}, {3, 4}}, {0, 1, kNoId, kOut}, {}, {}},
      {"LinearWithAShortBias", linear, {{2, 4}, {3, 4}, {2}}, {0, 1, 2, kOut}, {}, {}, {2, 3}},
      {"LinearWithABiasOfTwoDimensions", linear, {{2, 4}, {3, 4}, {1, 3}}, {0, 1, 2, kOut}, {}, {}},
      {"LinearWithABiasThatIsNotMade", linear, {{2, 4}, {3, 4}}, {0, 1, kOut, kOut}, {}, {}},
      {"LinearOfANumber", linear, {{}, {3, 4}}, {0, 1, kNoId, kOut}, {}, {}},
      {"LinearWithAVector", linear, {{4}, {4}}, {0, 1, kNoId, kOut}, {}, {}},
      {"LinearOfNothing", linear, {{4}, {4, 4}}, {kOut, 1, kNoId, kOut}, {}, {}},
      {"LinearWithNothing", linear, {{4}}, {0, kOut, kNoId, kOut}, {}, {}},
      {"Batch", batch, {{5, 2, 4}, {4, 3}}, {0, 1, kOut}, {}, {5, 2, 3}},
      {"BatchTransposed", batch, {{5, 2, 4}, {3, 4}}, {0, 1, kOut, kTransposed}, {}, {5, 2, 3}},
      {"BatchOfOtherSizes", batch, {{2, 4}, {3, 3}}, {0, 1, kOut}, {}, {}},
      {"BatchesThatDiffer", batch, {{5, 2, 4}, {2, 4, 3}}, {0, 1, kOut}, {}, {}},
      {"BatchOfAVector", batch, {{4}, {4, 3}}, {0, 1, kOut}, {}, {}},
      {"BatchByAVector", batch, {{2, 4}, {4}}, {0, 1, kOut}, {}, {}},
      {"BatchOfNothing", batch, {{2, 4}}, {kOut, 0, kOut}, {}, {}},
      {"BatchByNothing", batch, {{2, 4}}, {0, kOut, kOut}, {}, {}},
      {"Attention", attention, {query, key, value, {4}, {5, 3}}, ids, {}, {1, 2, 5, 6}},
      {"AttentionWithoutMask",
       attention,
       {query, key, value, {4}},
       {0, 1, 2, 3, kNoId, kOut},
       {},
       {}},
      {"AttentionOfAMatrix", attention, {{5, 4}, key, value, {4}, {5, 3}}, ids, {}, {}},
      {"AttentionToAMatrix", attention, {query, {3, 4}, value, {4}, {5, 3}}, ids, {}, {}},
      {"AttentionOnAMatrix", attention, {query, key, {3, 6}, {4}, {5, 3}}, ids, {}, {}},
      {"AttentionOfOtherBatches",
       attention,
       {query, {2, 2, 3, 4}, value, {4}, {5, 3}},
       ids,
       {},
       {}},
      {"AttentionOfOtherHeads", attention, {query, {1, 1, 3, 4}, value, {4}, {5, 3}}, ids, {}, {}},
      {"AttentionOfOtherChannels",
       attention,
       {query, {1, 2, 3, 5}, value, {4}, {5, 3}},
       ids,
       {},
       {}},
      {"AttentionOnOtherBatches", attention, {query, key, {2, 2, 3, 6}, {4}, {5, 3}}, ids, {}, {}},
      {"AttentionOnOtherHeads", attention, {query, key, {1, 1, 3, 6}, {4}, {5, 3}}, ids, {}, {}},
      {"AttentionOnOtherKeys", attention, {query, key, {1, 2, 4, 6}, {4}, {5, 3}}, ids, {}, {}},
      {"AttentionScaledWrongly", attention, {query, key, value, {3}, {5, 3}}, ids, {}, {}},
      {"AttentionWithACube", attention, {query, key, value, {4}, {1, 5, 3}}, ids, {}, {}},
      {"AttentionWithMoreTokens", attention, {query, key, value, {4}, {6, 3}}, ids, {}, {}},
      {"AttentionWithMoreKeys", attention, {query, key, value, {4}, {5, 4}}, ids, {}, {}},
  };
}
}  // namespace executorch::backends::xnnpack
