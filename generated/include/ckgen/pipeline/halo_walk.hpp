// Copied by ckgen from templates/include/ckgen/pipeline/halo_walk.hpp. Do not edit; run: ckgen generate
// A walk over the steps of all images by a role of family halo, and where the ring is: which of its blocks and stages
// is next.
#pragma once

#include "ckgen/conv/halo_geometry.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::pipeline {

struct HaloWalk {
    int image, step;
    int block = 0;
    int stage = 0;
    int parity = 0;

    CKGEN_DEVICE HaloWalk(const conv::HaloGeometry& g, int index)
        : image(index / g.steps_per_image), step(index - image * g.steps_per_image) {}
    CKGEN_DEVICE void next(const conv::HaloGeometry& g) {
        if(++step == g.steps_per_image)
            step = 0, ++image;
        if(++block == g.blocks)
            block = 0;
        if(++stage == g.stages)
            stage = 0, parity ^= 1;
    }
};

}  // namespace ckgen::pipeline
