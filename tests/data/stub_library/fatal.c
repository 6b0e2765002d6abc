/* The stand-in library with one instance that takes its process down: generic f16 aborts (FATAL_ABORT) or never comes
   back (FATAL_HANG), which it tells by a file, on problems with an odd batch; or it hangs the first time alone and tells
   its parent's process by that file, a FIFO (FATAL_ONCE). It also prints to standard output, as
   runtimes do. */
#define ckgen_run run_of_stub
#include "stub.c"
#undef ckgen_run
#include <fcntl.h>
#include <unistd.h>

int32_t ckgen_run(int32_t i, const ckgen_problem* p, void* in, void* wei, const void* out, void* workspace,
                  void* stream, int32_t time_kernel, float* milliseconds) {
    puts("{\"a line\": \"that is no answer\"}");
    fflush(stdout);
    if (!strcmp(instances[i].dtype, "f16") && instances[i].vector == 1 && p->in_lengths[1] % 2) {
#ifdef FATAL_HANG
        fclose(fopen(getenv("CKGEN_TEST_HANGS"), "w"));
        for (;;) pause();
#elif defined FATAL_ONCE
        char once[4096];
        snprintf(once, sizeof once, "%s.once", getenv("CKGEN_TEST_HANGS"));
        if (open(once, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) {
            FILE* told = fopen(getenv("CKGEN_TEST_HANGS"), "w");
            fprintf(told, "%d\n", (int)getppid());
            fclose(told);
            for (;;) pause();
        }
#else
        fputs("memory access fault\n", stderr);
        abort();
#endif
    }
    return run_of_stub(i, p, in, wei, out, workspace, stream, time_kernel, milliseconds);
}
