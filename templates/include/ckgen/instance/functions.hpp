// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/op/functions.hpp"
