#pragma once

// Private to this folder.
#include <cstdint>
#include <span>
#include <vector>

#include "amct/formats/caffe/schema.h"
#include "amct/formats/caffe/weights_file.h"

namespace amct::caffe {

/// Shape (also of old files) and type of a blob. Throws Error(kInvalidModel) when it holds more or
/// fewer numbers than its shape says, Error(kUnsupported) on a type that is not known.
BlobInfo describe(const schema::Blob& blob);

/// The numbers of a blob that describe() accepts; float16 as float.
Values read_values(const schema::Blob& blob);

/// A blob with other numbers in the form (type, old or new shape, unknown fields) of `like`.
/// `values` have the type of read_values(like).
schema::Blob make_blob(const schema::Blob& like, std::span<const std::int64_t> dims,
                       const Values& values);

}  // namespace amct::caffe
