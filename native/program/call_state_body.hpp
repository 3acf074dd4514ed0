// What a call state is made of; for the files that implement it.
#pragma once

#include <memory>
#include <vector>

#include "common/python_ref.hpp"
#include "program/kernel_handle.hpp"
#include "program/program.hpp"

namespace darter {

// What a call state holds besides its Python header. The kernels hold their code; `owner` is whatever else must live as
// long.
struct CallStateBody {
  std::unique_ptr<Program> program;
  LinkedProgramPtr linked;
  std::vector<KernelHandle*> kernels;  // strong
  std::vector<int> message_sites;      // first site of each kernel's messages
  std::vector<int> written;
  PythonRef owner;
  PythonRef guards;
  PythonRef cold_errors;
};

}  // namespace darter
