#pragma once

// Private to this folder: the generated messages under a short name.
#include "caffe.pb.h"

namespace amct::caffe {
namespace schema = amct::caffe_schema;
}
