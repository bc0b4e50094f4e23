#pragma once

#include <string>
#include <vector>

#include "amct/formats/tensorflow/kernel.h"
#include "amct/formats/tensorflow/meta_graph_state.h"

namespace amct::tensorflow {

/// A variable with initializer, assignment and read.
struct VariableNodes {
  NewVariable variable;
  VariableNames names;
};

/// Adds a variable of the same kind and device as `like`. Its initializer draws from a truncated
/// normal distribution of variance 1 / fan_in.
VariableNodes add_variable(GraphEditor& graph, const schema::Node& like, const std::string& name,
                           const std::array<std::int64_t, 4>& dims);

/// An assignment of `value` (a tensor) to a variable, of the kind that the variable asks for.
schema::Node& add_assignment(GraphEditor& graph, const std::string& name,
                             const schema::Node& variable, const std::string& value);

/// The two variables of a split kernel.
struct Pair {
  VariableNodes first;
  VariableNodes last;
  bool first_has_height = true;
};

/// Nodes that compute the kernel which the two convolutions stand for; returns the tensor.
std::string add_product(GraphEditor& graph, const Kernel& kernel, const Pair& pair);
/// A node that cuts the part [start, start + length) along `axis` out of a 4-D tensor.
void become_slice(GraphEditor& graph, schema::Node& node, const std::string& tensor, int axis,
                  std::int64_t start, std::int64_t length, std::int32_t data_type);
void become_identity(GraphEditor& graph, schema::Node& node, const std::string& tensor,
                     std::int32_t data_type);

/// Puts two convolutions in the place of a Conv2D node, which becomes an Identity of the second.
SplitConvolution split_convolution(GraphEditor& graph, const ConvSite& site, const Pair& pair);

}  // namespace amct::tensorflow
