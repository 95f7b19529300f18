/* The exciter SCRX at samples: lead-lag, limited lag, source and bridge, by Euler's rule.

   Compiled with -DAPI=0 it says that it is of another version, with -DNO_SAMPLE it lacks a function. From -DAT=,
   a time in s, on it gives up with -DBROKEN, its output is no number with -DNOT_A_NUMBER, it writes where it must
   not with -DCRASH, in Model_CheckParameters with -DCRASH_EARLY, it talks with -DTALKS, it does not come back with
   -DLOOPS, writes behind its states with -DOVERRUN, and -DSTATUS= is what it returns. -DREFUSES=, what Model_CheckParameters returns; -DLETTER, a text of one
   letter; -DNO_PORTS, it says nowhere what its inputs are; -DMOST=0, a whole
   number has no bounds. -DPERIOD= is the time between its samples in s. */
#include "interface.h"
#include <math.h>
#include <stdio.h>

#ifndef API
#define API 2
#endif

#ifdef LETTER
#define SITE "N"
#else
#define SITE "nowhere"
#endif
#ifndef MOST
#define MOST 1
#endif
#ifdef NO_PORTS
#define INPUTS 0
#else
#define INPUTS inputs
#endif

typedef struct {
    double reference, stabilizer, voltage, terminal, current;
    int blocked;
    float trim[3];
} Inputs;

typedef struct {
    double field;
    int samples;
} Outputs;

typedef struct {
    double ta_tb, t_b, k, t_e, e_min, e_max;
    int c_switch;
    float rc_rfd;
    char *site;
} Parameters;

static const Signal inputs[] = {
    {"v_ref", "Reference", "pu", REAL, 1},    {"v_s", "Stabilizer", "pu", REAL, 1},
    {"v_c", "Regulated voltage", "pu", REAL, 1}, {"v_t", "Terminal voltage", "pu", REAL, 1},
    {"i_f", "Field current", "pu", REAL, 1},  {"blocked", "Holds the output", "", WHOLE, 1},
    {"trim", "Added to the reference", "pu", SINGLE, 3},
};
static const Signal outputs[] = {{"v_f", "Field voltage", "pu", REAL, 1}, {"samples", "Samples so far", "", WHOLE, 1}};
static const Parameter parameters[] = {
    {"ta_tb", "lead-lag", "Lead by lag", "1", REAL, 0, {.real = 0.1}, {.real = 0.0}, {.real = 10.0}},
    {"t_b", "lead-lag", "Lag", "s", REAL, 0, {.real = 10.0}, {.real = 0.0}, {.real = 100.0}},
    {"k", "exciter", "Gain", "pu", REAL, 0, {.real = 100.0}, {.real = 0.0}, {.real = 1000.0}},
    {"t_e", "exciter", "Time constant", "s", REAL, 0, {.real = 0.05}, {.real = 0.0}, {.real = 1.0}},
    {"e_min", "exciter", "Lower limit", "pu", REAL, 0, {.real = -5.0}, {.real = -10.0}, {.real = 0.0}},
    {"e_max", "exciter", "Upper limit", "pu", REAL, 0, {.real = 5.0}, {.real = 0.0}, {.real = 10.0}},
    {"c_switch", "exciter", "1: constant source", "", WHOLE, 1, {.whole = 1}, {.whole = 0}, {.whole = MOST}},
    {"rc_rfd", "bridge", "Crowbar by field", "1", SINGLE, 1, {.single = 0.0f}, {.single = 0.0f}, {.single = 50.0f}},
    {"site", "", "Where it stands", "", TEXT, 1, {.text = SITE}},
};

#define COUNT(array) ((int)(sizeof(array) / sizeof(array[0])))
#ifndef AT
#define AT 0.1
#endif
#ifndef PERIOD
#define PERIOD 1e-3
#endif
static const double period = PERIOD;

static const Info info = {
    {API == 2 ? 2 : 1, 0, 0, 0}, "SCRX at samples", "1.0", "Static exciter", "", "", "psmr", "", "", "", "",
    PERIOD, 2, COUNT(inputs), INPUTS, COUNT(outputs), outputs, COUNT(parameters), parameters, 1, 1, 3,
};

EXPORTED const Info *Model_GetInfo(void) { return &info; }

EXPORTED int Model_CheckParameters(Instance *one) {
    static char words[200];
    Parameters *p = one->parameters;
#ifdef CRASH_EARLY
    *(volatile int *)0 = 1;
#endif
#ifdef REFUSES
    one->error = "no licence";
    return REFUSES;
#endif
    if (p->e_min >= p->e_max) {
        one->error = "e_min is not below e_max";
        return 2;
    }
    if (p->t_e < 2.0 * period) p->t_e = 2.0 * period;
    snprintf(words, sizeof words, "at %s", p->site);
    one->message = words;
    return 1;
}

EXPORTED int Model_Initialize(Instance *one) {
    const Parameters *p = one->parameters;
    const Inputs *u = one->inputs;
    const Outputs *y = one->outputs;
    double *x = one->doubles, source = p->c_switch ? 1.0 : u->terminal;
    x[0] = y->field / source / p->k;
    x[1] = y->field / source;
    x[2] = x[0] - (u->reference + u->stabilizer - u->voltage);
    one->ints[0] = 0;
    return 0;
}

#ifndef NO_SAMPLE
EXPORTED int Model_Outputs(Instance *one) {
    const Parameters *p = one->parameters;
    const Inputs *u = one->inputs;
    Outputs *y = one->outputs;
    double *x = one->doubles, error = u->reference + u->trim[2] + u->stabilizer - u->voltage + x[2];
    double led = x[0] + p->ta_tb * (error - x[0]), source = p->c_switch ? 1.0 : u->terminal;
#ifdef CRASH
    if (one->time > AT - 1e-9) *(volatile int *)0 = 1;
#endif
#ifdef LOOPS
    while (one->time > AT - 1e-9) *(volatile double *)&one->time;
#endif
#ifdef OVERRUN
    if (one->time > AT - 1e-9) x[3] = 1.0;
#endif
#ifdef STATUS
    if (one->time > AT - 1e-9) return STATUS;
#endif
#ifdef BROKEN
    if (one->time > AT - 1e-9) {
        one->error = "the watchdog\n has expired";
        return 2;
    }
#endif
    y->field = x[1] * source;
    if (u->current < 0.0 && p->rc_rfd > 0.0f) y->field = -p->rc_rfd * u->current;
#ifdef NOT_A_NUMBER
    if (one->time > AT - 1e-9) y->field = NAN;
#endif
    y->samples = ++one->ints[0];
    if (!u->blocked) {
        x[0] += period / p->t_b * (error - x[0]);
        x[1] += period / p->t_e * (p->k * led - x[1]);
        x[1] = fmin(fmax(x[1], p->e_min), p->e_max);
    }
#ifdef TALKS
    if (one->time > AT - 1e-9) {
        one->message = "nobody asked for this";
        return 1;
    }
#endif
    return 0;
}
#endif
