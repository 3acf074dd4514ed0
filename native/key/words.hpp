// A growable array of 64-bit words that starts on the stack: key words and argument slots of one call.
#pragma once

#include "common/python.hpp"

namespace darter {

constexpr size_t kInlineWords = 512;

class WordBuffer {
 public:
  WordBuffer() = default;
  WordBuffer(const WordBuffer&) = delete;
  WordBuffer& operator=(const WordBuffer&) = delete;
  ~WordBuffer() {
    if (DARTER_UNLIKELY(begin_ != inline_)) PyMem_Free(begin_);
  }

  uint64_t* data() { return begin_; }
  const uint64_t* data() const { return begin_; }
  size_t size() const { return static_cast<size_t>(end_ - begin_); }
  void clear() { end_ = begin_; }

  // Makes room for `count` more words; false with MemoryError set.
  bool reserve(size_t count) { return DARTER_LIKELY(has_room(count)) || grow(count); }

  bool has_room(size_t count) const { return static_cast<size_t>(limit_ - end_) >= count; }

  // Where the next word goes, and the same after words were written there; room must have been reserved.
  uint64_t* end() { return end_; }
  void set_end(uint64_t* end) { end_ = end; }

  // Room must have been reserved.
  void push(uint64_t word) { *end_++ = word; }
  uint64_t* take(size_t count) { return std::exchange(end_, end_ + count); }

  bool append(uint64_t word) {
    if (!reserve(1)) return false;
    push(word);
    return true;
  }

 private:
  DARTER_COLD bool grow(size_t count);

  uint64_t* begin_ = inline_;
  uint64_t* end_ = inline_;
  uint64_t* limit_ = inline_ + kInlineWords;
  uint64_t inline_[kInlineWords];
};

}  // namespace darter
