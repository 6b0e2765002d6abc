// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/config/tensor_layout.hpp"
