/* The stand-in library with one instance that takes its process down: generic f16 aborts (FATAL_ABORT) or never comes
   back (FATAL_HANG), which it tells by a file, on problems with an odd batch. It also prints to standard output, as
   runtimes do. */
#define ckgen_run run_of_stub
#include "stub.c"
#undef ckgen_run
#include <unistd.h>

int32_t ckgen_run(int32_t i, const ckgen_problem* p, void* in, void* wei, const void* out, void* workspace,
                  void* stream, int32_t time_kernel, float* milliseconds) {
    puts("{\"a line\": \"that is no answer\"}");
    fflush(stdout);
    if (!strcmp(instances[i].dtype, "f16") && instances[i].vector == 1 && p->in_lengths[1] % 2) {
#ifdef FATAL_HANG
        fclose(fopen(getenv("CKGEN_TEST_HANGS"), "w"));
        for (;;) pause();
#else
        fputs("memory access fault\n", stderr);
        abort();
#endif
    }
    return run_of_stub(i, p, in, wei, out, workspace, stream, time_kernel, milliseconds);
}
