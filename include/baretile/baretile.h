// All of baretile. See tensor.h for the smallest program.
#pragma once
#include "baretile/autograd.h"
#include "baretile/chip.h"
#include "baretile/device.h"
#include "baretile/error.h"
#include "baretile/explain.h"
#include "baretile/files.h"
#include "baretile/jit.h"
#include "baretile/nn.h"
#include "baretile/program.h"
#include "baretile/random.h"
#include "baretile/runtime.h"
#include "baretile/tensor.h"
