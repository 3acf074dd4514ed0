// Scalars as text, for messages: as Python writes them, floats by their shortest digits that read back as the same
// float of their type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scalars/dtype.hpp"

namespace darter {

// The low bytes of `bits` as `dtype`; a pointer in hexadecimal.
std::string value_text(Dtype dtype, uint64_t bits);

// pieces[0] value[0] pieces[1] ...; values beyond the last piece follow in parentheses.
std::string message_text(const std::vector<std::string>& pieces, const std::vector<std::string>& values);

}  // namespace darter
