#include "key/words.hpp"

namespace darter {

bool WordBuffer::grow(size_t count) {
  const size_t used = size();
  const size_t capacity = (used + count) * 2;
  auto* moved = static_cast<uint64_t*>(PyMem_Malloc(capacity * sizeof(uint64_t)));
  if (moved == nullptr) {
    PyErr_NoMemory();
    return false;
  }
  std::memcpy(moved, begin_, used * sizeof(uint64_t));
  if (begin_ != inline_) PyMem_Free(begin_);
  begin_ = moved;
  end_ = moved + used;
  limit_ = moved + capacity;
  return true;
}

}  // namespace darter
