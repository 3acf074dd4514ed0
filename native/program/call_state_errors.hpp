// Why a launch program ended early, as a Python exception.
#pragma once

#include <cstdint>

#include "program/call_state_body.hpp"

namespace darter {

// Sets the exception for a run that ended with `result`; `registers` still hold the values that it met. Returns -1.
int raise_run(const CallStateBody& body, const RunResult& result, const uint64_t* registers);

}  // namespace darter
