// Iteration of the roles of family halo over the steps of all images.
#pragma once

#include "ckgen/conv/halo_geometry.hpp"
#include "ckgen/pipeline/stage_ring.hpp"

namespace ckgen::pipeline {

// The steps of a workgroup. A share that begins inside an image first loads the earlier rows that its first step needs:
// the first `before` steps have no products.
struct HaloShare {
    int before, first, count;

    // Steps `begin` to `end` - 1 of all images.
    CKGEN_DEVICE HaloShare(const conv::HaloGeometry& g, int begin, int end)
        : before(min_of(g.blocks - g.stages, begin % g.steps_per_image)), first(begin - before),
          count(end > begin ? end - first : 0) {}
};

// A role's step, the block of the rings that has its input rows, and its stage. Ring: StageBarriers or StageRing.
template <class Ring>
struct HaloWalk {
    int image, step;
    int block = 0;
    Ring ring;

    CKGEN_DEVICE HaloWalk(const conv::HaloGeometry& g, const Ring& first_stage, int index)
        : image(index / g.steps_per_image), step(index - image * g.steps_per_image), ring(first_stage) {}
    CKGEN_DEVICE void next(const conv::HaloGeometry& g) {
        if(++step == g.steps_per_image)
            step = 0, ++image;
        if(++block == g.blocks)
            block = 0;
        ring.next();
    }
};

}  // namespace ckgen::pipeline
