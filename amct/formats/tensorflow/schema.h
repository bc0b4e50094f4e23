#pragma once

// Private to this folder: the generated messages under a short name.
#include "bundle.pb.h"
#include "graph.pb.h"

namespace amct::tensorflow {
namespace schema = amct::tensorflow_schema;
}
