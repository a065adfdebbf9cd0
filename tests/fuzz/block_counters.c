/* Connects extensions that gcc compiled with -fsanitize-coverage=trace-pc,trace-cmp to libFuzzer,
 * which atheris holds. Clang would insert counters itself; gcc calls a function for each basic
 * block and each comparison. Load this library before the extensions, with RTLD_GLOBAL, so that
 * their calls find these definitions, and call block_counters_register before the fuzzing starts.
 */
#include <stdint.h>

#define COUNTERS (1 << 16) /* The engine and the wire modules have about 20,000 blocks. */

static uint8_t counters[COUNTERS];
/* libFuzzer wants an address and flags for each counter. It only shows the addresses. */
static uintptr_t blocks[2 * COUNTERS];

void __sanitizer_cov_trace_pc(void)
{
    /* Relative to this library, since libraries lie elsewhere in each run, but at the same distance. */
    uintptr_t block = (uintptr_t) __builtin_return_address(0) - (uintptr_t) counters;
    counters[(block * 0x9E3779B97F4A7C15u) >> 48]++;
}

/* gcc turns the calls of the functions below into jumps, so that libFuzzer sees the address of the
 * comparison as that of its caller. */

#define FORWARD(name, type)                                                                        \
    static void (*forward_##name)(type, type);                                                     \
    void __sanitizer_cov_trace_##name(type one, type other)                                        \
    {                                                                                              \
        if (forward_##name)                                                                        \
            forward_##name(one, other);                                                            \
    }

FORWARD(cmp1, uint8_t)
FORWARD(cmp2, uint16_t)
FORWARD(cmp4, uint32_t)
FORWARD(cmp8, uint64_t)
FORWARD(const_cmp1, uint8_t)
FORWARD(const_cmp2, uint16_t)
FORWARD(const_cmp4, uint32_t)
FORWARD(const_cmp8, uint64_t)

static void (*forward_switch)(uint64_t, uint64_t *);

void __sanitizer_cov_trace_switch(uint64_t value, uint64_t *cases)
{
    if (forward_switch)
        forward_switch(value, cases);
}

/* libFuzzer has no use for floating-point numbers. */
void __sanitizer_cov_trace_cmpf(float one, float other)
{
    (void) one, (void) other;
}

void __sanitizer_cov_trace_cmpd(double one, double other)
{
    (void) one, (void) other;
}

/* Registers the counters with libFuzzer. `find` returns the address of one of its functions. */
void block_counters_register(void *(*find)(const char *name))
{
    void (*counters_init)(uint8_t *, uint8_t *) = find("__sanitizer_cov_8bit_counters_init");
    void (*pcs_init)(uintptr_t *, uintptr_t *) = find("__sanitizer_cov_pcs_init");
    for (uintptr_t i = 0; i < COUNTERS; i++)
        blocks[2 * i] = i + 1;
    counters_init(counters, counters + COUNTERS);
    pcs_init(blocks, blocks + 2 * COUNTERS);
    forward_cmp1 = find("__sanitizer_cov_trace_cmp1");
    forward_cmp2 = find("__sanitizer_cov_trace_cmp2");
    forward_cmp4 = find("__sanitizer_cov_trace_cmp4");
    forward_cmp8 = find("__sanitizer_cov_trace_cmp8");
    forward_const_cmp1 = find("__sanitizer_cov_trace_const_cmp1");
    forward_const_cmp2 = find("__sanitizer_cov_trace_const_cmp2");
    forward_const_cmp4 = find("__sanitizer_cov_trace_const_cmp4");
    forward_const_cmp8 = find("__sanitizer_cov_trace_const_cmp8");
    forward_switch = find("__sanitizer_cov_trace_switch");
}

/* Returns how many counters are not 0, for a check that the extensions call this library. */
int block_counters_used(void)
{
    int used = 0;
    for (int i = 0; i < COUNTERS; i++)
        used += counters[i] != 0;
    return used;
}
