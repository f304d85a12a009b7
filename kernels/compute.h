// What kernels are made of. The kernel cache precompiles this header, so it is a kernel's first.
#pragma once
#include "math.h"
#include "noc.h"
#include "pack.h"
#include "sfpu.h"
#include "team.h"
#include "unpack.h"
