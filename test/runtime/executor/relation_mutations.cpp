// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "relations.h"

namespace executorch::testing {

using Dynamism = fb::TensorShapeDynamism;

namespace {

using P = TestProgram;
using Mutations = std::vector<Mutation>;

/// Writes to values that must not be written, in each possible way.
void add_written(Mutations* rows) {
  struct Target {
    std::string name;
    std::function<void(P&)> prepare;
    int32_t value;
    std::string message;
  };
  const std::vector<Target> targets = {
      {"AConstant", [](P&) {}, kConstant, "may be a constant"},
      {"AView", [](P&) {}, kView, "is a view, which shows another value's memory"},
      {"AViewOfAConstant", [](P& p) { code(p)[0] = view_of(kConstant, kView); }, kView,
       "may be a constant"},
      {"AMovedConstant", [](P& p) { code(p)[2] = move(kConstant, kTarget); }, kTarget,
       "may be a constant"},
      {"WhatPassesAConstantOn",
       [](P& p) {
         code(p)[0] = view_of(kConstant, kView);
         code(p)[2] = move(kView, kTarget);
       },
       kTarget, "may be a constant"},
  };
  for (const Target& target : targets) {
    for (const Access& writer : writers()) {
      rows->push_back(
          {writer.name + "Is" + target.name,
           [=](P& p) {
             target.prepare(p);
             writer.add(p, target.value);
           },
           {"method 'forward', instruction 4: argument ",
            "(value " + std::to_string(target.value) + ") is written to, but", target.message}});
    }
  }
}

/// Operands that share bytes with a result, bytes 16 to 24, by every way to read.
void add_overlaps(Mutations* rows) {
  struct Place {
    std::string name;
    int32_t elements;
    uint64_t offset;
  };
  const std::vector<Place> parts = {{"EndsInTheResult", 2, 12},
                                    {"BeginsInTheResult", 2, 20},
                                    {"ContainsTheResult", 4, 12},
                                    {"LiesWithinTheResult", 1, 16}};
  const auto add = [rows](const Access& reader, const Place& place) {
    rows->push_back(
        {reader.name + place.name,
         [=](P& p) {
           plan(p).values.push_back(planned(place.elements, place.offset));
           reader.add(p, kAdded);
         },
         {"method 'forward', instruction 4: value 18 (bytes " + std::to_string(place.offset) +
              " to " + std::to_string(place.offset + 4 * static_cast<uint64_t>(place.elements)) +
              " of planned buffer 1) shares bytes with value 2 (16 to 24), which the call writes "
              "to",
          "expected places apart"}});
  };
  for (const Access& reader : readers()) {
    add(reader, {"LiesWhereTheResultIs", 2, 16});
    for (const Place& part : parts) add(reader, part);
  }
  for (const Access& reader : readers_in_place()) {
    for (const Place& part : parts) add(reader, part);
  }
}

/// One tensor as operand and result of one call.
void add_same(Mutations* rows) {
  const std::string same = "may be the same tensor as another argument that is written to";
  for (const Access& reader : readers()) {
    rows->push_back({reader.name + "IsTheResult",
                     [=](P& p) { reader.add(p, kResult); },
                     {"instruction 4: argument ", "(value 2) is read, but", same}});
    rows->push_back({reader.name + "MayBeTheResultByAMove",
                     [=](P& p) { reader.add(p, kTarget); },
                     {"instruction 4: argument ", "(value 9) is read, but", same}});
    rows->push_back({reader.name + "IsAViewOfTheResult",
                     [=](P& p) {
                       code(p)[0] = view_of(kResult, kView);
                       reader.add(p, kView);
                       code(p)[1].arguments[0] = kFirst;
                     },
                     {"instruction 4: argument ", "(value 5) is read, but", same}});
  }
  for (const Access& reader : readers_in_place()) {
    // The same kernels, but the result may get other sizes.
    const auto resized = [=](P& p, int32_t operand) {
      reader.add(p, operand);
      for (int32_t& argument : code(p).back().arguments) {
        argument = argument == kResult ? kDynamic : argument;
      }
    };
    rows->push_back({reader.name + "IsResized",
                     [=](P& p) { resized(p, kDynamic); },
                     {"(value 10) is read, but", same + " or resized"}});
    rows->push_back({reader.name + "IsResizedThroughAMove",
                     [=](P& p) {
                       code(p)[2] = move(kDynamic, kTarget);
                       resized(p, kTarget);
                     },
                     {"(value 9) is read, but", same + " or resized"}});
  }
}

/// Two results of one call.
void add_two_results(Mutations* rows) {
  const std::string same = "may be the same tensor as another argument that is written to";
  const std::string shares = "shares bytes with value";
  const Mutations more = {
      {"OneResultTwice",
       [](P& p) { code(p).push_back(kernel(kPair, {kFirst, kOther, kOther})); },
       {"instruction 4: argument 2 (value 3) is written to, but", same}},
      {"OneItemTwice",
       [](P& p) {
         plan(p).values[kResults].list = {kOther, kOther};
         code(p).push_back(kernel(kSplit, {kFirst, kResults, kResults}));
       },
       {"argument 1 (value 3) is written to, but", same}},
      {"OneOutputTwice",
       [](P& p) { code(p).push_back(delegate(kTwoOutputs, {kFirst, kOther, kOther})); },
       {"argument 2 (value 3) is written to, but", same}},
      {"TwoResultsThatAMoveMakesOne",
       [](P& p) { code(p).push_back(kernel(kPair, {kFirst, kResult, kTarget})); },
       {"argument 2 (value 9) is written to, but", same}},
      {"TwoResultsThatOverlap",
       [](P& p) {
         plan(p).values.push_back(planned(2, 20));
         code(p).push_back(kernel(kPair, {kFirst, kResult, kAdded}));
       },
       {shares}},
      {"TwoResultsAtOnePlace",
       [](P& p) {
         plan(p).values.push_back(planned(2, 16));
         code(p).push_back(kernel(kPair, {kFirst, kAdded, kResult}));
       },
       {shares}},
      {"TwoItemsThatOverlap",
       [](P& p) {
         plan(p).values.push_back(planned(3, 20));
         plan(p).values[kResults].list = {kResult, kAdded};
         code(p).push_back(kernel(kSplit, {kFirst, kResults, kResults}));
       },
       {shares}},
      {"TwoOutputsThatOverlap",
       [](P& p) {
         plan(p).values.push_back(planned(2, 20));
         code(p).push_back(delegate(kTwoOutputs, {kFirst, kResult, kAdded}));
       },
       {shares}},
      {"MoreOutputsThanArguments",
       [](P& p) { code(p).push_back(delegate(kTwoOutputs, {kResult})); },
       {"instruction 4: delegate 1 has 2 outputs, expected at most the call's 1 arguments"}},
  };
  rows->insert(rows->end(), more.begin(), more.end());
}

/// Views and moves with invalid sources or targets.
void add_views_and_moves(Mutations* rows) {
  const std::string own = "has memory of its own or no bound";
  const std::string nothing_else = "expected a value that nothing else gives memory or sizes";
  const std::string kinds = "expected a tensor, a number or None";
  const auto view_is = [](int32_t view) { return [=](P& p) { code(p)[0].arguments[2] = view; }; };
  const auto moves = [](int32_t from, int32_t to) {
    return [=](P& p) { code(p).push_back(move(from, to)); };
  };
  const auto moves_added = [](TestTensor added) {
    return [=](P& p) {
      plan(p).values.push_back(tensor(added));
      code(p).push_back(move(kAdded, kOther));
    };
  };
  const Mutations more = {
      {"AViewWithAnotherPlace",
       view_is(kOther),
       {"instruction 0: the view, value 3,", own, "source 1, buffer 1, bytes 64 to 72",
        "expected none, or its base's, value 0 (buffer 1, bytes 0 to 8)"}},
      {"AViewThatReachesBeyondItsBase",
       [](P& p) {
         plan(p).values.push_back(planned(4, 0));
         code(p)[0].arguments[2] = kAdded;
       },
       {own, "bytes 0 to 16"}},
      {"AViewInAnotherBuffer",
       [](P& p) {
         plan(p).values.push_back(planned(2, 0));
         tensor_of(p, kAdded).memory_id = 2;
         code(p)[0].arguments[2] = kAdded;
       },
       {own, "buffer 2"}},
      {"APlannedViewOfWhatIsNotPlanned",
       [](P& p) {
         code(p)[0] = view_of(kGiven, kOther);
         plan(p).inputs = {kFirst, kSecond, kGiven};
       },
       {own, "value 17 (buffer 0"}},
      {"AViewThatIsState", view_is(kState), {own, "source 3"}},
      {"AViewThatIsAConstant", view_is(kConstant), {own, "source 2"}},
      {"AViewWithoutBound",
       [](P& p) {
         plan(p).values.push_back(plan(p).values[kView]);
         tensor_of(p, kAdded).dynamism = Dynamism::DYNAMIC_BOUND;
         tensor_of(p, kView).dynamism = Dynamism::DYNAMIC_UNBOUND;
         plan(p).inputs.push_back(kView);
       },
       {own}},
      {"AViewWhoseOperatorHasItsOverloadInTheName",
       [](P& p) {
         plan(p).operators[kMakeView] = {"executorch_prim::et_view.default", ""};
         code(p)[0] = view_of(kFirst, kOther);
       },
       {own, "value 3"}},
      {"AViewThatIsAnInput",
       [](P& p) { plan(p).inputs.push_back(kView); },
       {"value 5 becomes a view of value 0, but is an input", nothing_else}},
      {"AViewOfItself",
       [](P& p) {
         plan(p).inputs = {kSecond};
         code(p)[0] = view_of(kFirst, kFirst);
       },
       {"value 0 becomes a view of value 0, but is the same", nothing_else}},
      {"AViewThatIsMovedTo",
       [](P& p) { code(p).push_back(move(kFirst, kView)); },
       {"instruction 4: value 5 becomes the tensor that is value 0, but is a view", nothing_else}},
      {"ATargetThatBecomesAView",
       [](P& p) {
         code(p)[2] = move(kResult, kGiven);
         code(p)[3] = view_of(kFirst, kGiven);
       },
       {"instruction 3: value 17 becomes a view of value 0, but is the target of a MoveCall"}},
      {"AMoveOntoAnInput",
       moves(kResult, kSecond),
       {"value 1 becomes the tensor that is value 2, but is an input", nothing_else}},
      {"AMoveOntoItself", moves(kResult, kResult), {"is value 2, but is the same"}},
      {"AMoveOntoAConstant",
       moves(kResult, kConstant),
       {"MoveCall onto value 4, which has data of the program", "(source 2), expected none"}},
      {"AMoveOntoState", moves(kResult, kState), {"MoveCall onto value 16", "(source 3)"}},
      {"AMoveOfATensorList", moves(kResults, kOperands), {"value 12 of kind 10", kinds}},
      {"AMoveOfAnOptionalList", moves(kOptional, kOptional), {"value 14 of kind 11", kinds}},
      {"AMoveOfAnIntList", moves(kSizes, kSizes), {"value 6 of kind 7", kinds}},
      {"AMoveOfAString", moves(kText, kText), {"value 15 of kind 6", kinds}},
      {"AMoveOfAnotherType",
       moves_added(without_memory(fb::ScalarType::INT, {2}, {0})),
       {"MoveCall of value 18 (scalar type 3, rank 1) onto value 3 (type 6, rank 1)",
        "expected the same type, rank and dim order"}},
      {"AMoveOfAnotherRank",
       moves_added(without_memory(fb::ScalarType::FLOAT, {1, 2}, {0, 1})),
       {"(scalar type 6, rank 2) onto value 3 (type 6, rank 1)"}},
      {"AMoveOfAnotherDimOrder",
       [](P& p) {
         tensor_of(p, kOther).sizes = {1, 2};
         tensor_of(p, kOther).dim_order = {1, 0};
         plan(p).values.push_back(tensor(without_memory(fb::ScalarType::FLOAT, {1, 2}, {0, 1})));
         code(p).push_back(move(kAdded, kOther));
       },
       {"expected the same type, rank and dim order"}},
      {"OneInputTwice",
       [](P& p) { plan(p).inputs = {kFirst, kFirst}; },
       {"method 'forward': value 0 is two inputs, expected a value for each"}},
      {"OneNumberTwice",
       [](P& p) { plan(p).inputs = {kFirst, kTwo, kTwo}; },
       {"value 7 is two inputs"}},
  };
  rows->insert(rows->end(), more.begin(), more.end());
}

}  // namespace

std::vector<Mutation> mutations() {
  Mutations rows;
  add_written(&rows);
  add_overlaps(&rows);
  add_same(&rows);
  add_two_results(&rows);
  add_views_and_moves(&rows);
  return rows;
}

}  // namespace executorch::testing
