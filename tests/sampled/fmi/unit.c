/* A unit of FMI: the exciter SCRX at samples, by the law of ../code/scrx.c, and a count that a slow clock adds to.

   Compiled with -DFMI=2 or 3. At 0.1 s one with -DBROKEN does not do its step, one with -DENDS asks to end, one
   with -DEARLY ends its step halfway, and the output of one with -DNOT_A_NUMBER is none from there on. With
   -DLONG_STATE the state has 80,000 bytes. The functions follow the public headers of FMI 2.0.4 and 3.0.2. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))
#define STUB(name) EXPORTED int name(void *one) { return 3; }

enum { OK, WARNING, DISCARD, ERROR };
enum { V_REF = 1, V_S, V_C, V_T, I_F, BLOCKED, GAIN, V_F, SAMPLES, K, T_B, E_MAX, KIND, START, SLOW, TRIM, FAST_CLOCK = 100, SLOW_CLOCK };

typedef struct {
    double values[24], x[3], time;
#ifdef LONG_STATE
    double more[10000];
#endif
} State;

typedef struct {
    State state;
#if FMI == 2
    void (*say)(void *, const char *, int, const char *, const char *, ...);
#else
    void (*say)(void *, int, const char *, const char *);
#endif
    void *environment;
    char name[40];
} Unit;

static void say(Unit *one, int status, const char *words) {
#if FMI == 2
    if (one->say) one->say(one->environment, one->name, status, "logStatusError", "%s: %s", one->name, words);
#else
    if (one->say) one->say(one->environment, status, "logStatusError", words);
#endif
}

static Unit *made(const char *name, const char *token, void *environment, void *logger) {
    if (strcmp(token, "{scrx}")) return NULL;
    Unit *one = calloc(1, sizeof(Unit));
    double *v = one->state.values;
    v[V_REF] = v[V_C] = v[V_T] = 1.0, v[K] = 100.0, v[T_B] = 10.0, v[E_MAX] = 5.0, v[KIND] = 1.0, v[GAIN] = 1.0;
    strncpy(one->name, name, sizeof one->name - 1);
    one->environment = environment, one->say = logger;
    return one;
}

static int started(Unit *one) {
    double *v = one->state.values, *x = one->state.x, source = v[KIND] ? 1.0 : v[V_T];
    if (v[V_F] != 0.0) v[START] = v[V_F];
    if (v[E_MAX] <= 0.0) {
        say(one, ERROR, "E_MAX is not above E_MIN");
        return ERROR;
    }
    x[0] = v[START] / source / v[K], x[1] = v[START] / source, x[2] = x[0] - (v[V_REF] + v[V_S] - v[V_C]);
    v[V_F] = v[START], v[SAMPLES] = v[SLOW] = 0.0;
    return OK;
}

static void sample(State *s, double period) {
    double *v = s->values, *x = s->x, error = v[V_REF] + v[TRIM] + v[V_S] - v[V_C] + x[2];
    double led = x[0] + 0.1 * (error - x[0]), source = v[KIND] ? 1.0 : v[V_T];
    v[V_F] = v[GAIN] * x[1] * source;
    v[SAMPLES] += 1.0;
    if (v[BLOCKED]) return;
    x[0] += period / v[T_B] * (error - x[0]);
    x[1] += period / 0.05 * (v[K] * led - x[1]);
    x[1] = fmin(fmax(x[1], -5.0), v[E_MAX]);
}

static int stepped(Unit *one, double t, double h, double *came) {
    State *s = &one->state;
    if (fabs(t - s->time) > 1e-9) {
        say(one, ERROR, "is not at that time");
        return ERROR;
    }
    bool late = t > 0.1 - 1e-9;
    *came = s->time = t + h;
    sample(s, h);
    (void)late;
#ifdef BROKEN
    if (late) say(one, DISCARD, "the watchdog\n has expired");
    if (late) return DISCARD;
#endif
#ifdef NOT_A_NUMBER
    if (late) s->values[V_F] = NAN;
#endif
#ifdef EARLY
    if (late) *came = t + 0.5 * h;
#endif
    return OK;
}

#define ACCESS(set, get, kind)                                                                         \
    EXPORTED int set(Unit *one, const uint32_t which[], size_t count, const kind given[]) {            \
        for (size_t k = 0; k < count; ++k) one->state.values[which[k]] = given[k];                     \
        return OK;                                                                                     \
    }                                                                                                  \
    EXPORTED int get(Unit *one, const uint32_t which[], size_t count, kind found[]) {                  \
        for (size_t k = 0; k < count; ++k) found[k] = (kind)one->state.values[which[k]];               \
        return OK;                                                                                     \
    }

static int kept(Unit *one, void **state) {
#ifdef NO_STATE
    return ERROR;
#endif
    if (!*state) *state = malloc(sizeof(State));
    memcpy(*state, &one->state, sizeof(State));
    return OK;
}

static int back(Unit *one, const void *state) {
    memcpy(&one->state, state, sizeof(State));
    return OK;
}

static int freed(void **state) {
    free(*state);
    *state = NULL;
    return OK;
}

static int written(const void *state, char *bytes, size_t size) {
    memcpy(bytes, state, size);
    return OK;
}

static int reread(const char *bytes, size_t size, void **state) {
    if (!*state) *state = malloc(sizeof(State));
    memcpy(*state, bytes, size);
    return OK;
}

#if FMI == 2
typedef struct { void *logger, *allocate, *release, *finished, *environment; } Callbacks;

EXPORTED const char *fmi2GetVersion(void) { return "2.0"; }
EXPORTED const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORTED Unit *fmi2Instantiate(const char *name, int type, const char *token, const char *where, const Callbacks *c, int seen, int log) {
    return made(name, token, c->environment, c->logger);
}
EXPORTED void fmi2FreeInstance(Unit *one) { free(one); }
EXPORTED int fmi2SetDebugLogging(Unit *one, int on, size_t count, const char *const names[]) { return OK; }
EXPORTED int fmi2SetupExperiment(Unit *one, int given, double tolerance, double start, int ends, double end) {
    one->state.time = start;
    return OK;
}
EXPORTED int fmi2EnterInitializationMode(Unit *one) { return OK; }
EXPORTED int fmi2ExitInitializationMode(Unit *one) { return started(one); }
EXPORTED int fmi2Terminate(Unit *one) { return OK; }
EXPORTED int fmi2DoStep(Unit *one, double t, double h, int last) {
    double came;
    return stepped(one, t, h, &came);
}
ACCESS(fmi2SetReal, fmi2GetReal, double)
ACCESS(fmi2SetInteger, fmi2GetInteger, int)
ACCESS(fmi2SetBoolean, fmi2GetBoolean, int)
EXPORTED int fmi2GetFMUstate(Unit *one, void **state) { return kept(one, state); }
EXPORTED int fmi2SetFMUstate(Unit *one, void *state) { return back(one, state); }
EXPORTED int fmi2FreeFMUstate(Unit *one, void **state) { return freed(state); }
EXPORTED int fmi2SerializedFMUstateSize(Unit *one, void *state, size_t *size) { return *size = sizeof(State), OK; }
EXPORTED int fmi2SerializeFMUstate(Unit *one, void *state, char *bytes, size_t size) { return written(state, bytes, size); }
EXPORTED int fmi2DeSerializeFMUstate(Unit *one, const char *bytes, size_t size, void **state) { return reread(bytes, size, state); }
STUB(fmi2Reset) STUB(fmi2GetString) STUB(fmi2SetString) STUB(fmi2GetDirectionalDerivative) STUB(fmi2CancelStep)
STUB(fmi2SetRealInputDerivatives) STUB(fmi2GetRealOutputDerivatives) STUB(fmi2GetStatus) STUB(fmi2GetRealStatus)
STUB(fmi2GetIntegerStatus) STUB(fmi2GetBooleanStatus) STUB(fmi2GetStringStatus)
#else
EXPORTED const char *fmi3GetVersion(void) { return "3.0"; }
EXPORTED Unit *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *where, bool seen, bool log, bool events,
                                           bool early, const uint32_t needed[], size_t count, void *environment, void *logger, void *update) {
    return made(name, token, environment, logger);
}
EXPORTED Unit *fmi3InstantiateScheduledExecution(const char *name, const char *token, const char *where, bool seen, bool log, void *environment,
                                                 void *logger, void *update, void *lock, void *unlock) {
    return made(name, token, environment, logger);
}
EXPORTED void fmi3FreeInstance(Unit *one) { free(one); }
EXPORTED int fmi3SetDebugLogging(Unit *one, bool on, size_t count, const char *const names[]) { return OK; }
EXPORTED int fmi3EnterInitializationMode(Unit *one, bool given, double tolerance, double start, bool ends, double end) {
    one->state.time = start;
    return OK;
}
EXPORTED int fmi3ExitInitializationMode(Unit *one) { return started(one); }
EXPORTED int fmi3Terminate(Unit *one) { return OK; }
EXPORTED int fmi3DoStep(Unit *one, double t, double h, bool last, bool *event, bool *ends, bool *early, double *came) {
    int status = stepped(one, t, h, came);
    *event = *ends = false;
    *early = *came < t + h;
#ifdef ENDS
    *ends = t > 0.1 - 1e-9;
#endif
    return status;
}
EXPORTED int fmi3ActivateModelPartition(Unit *one, uint32_t clock, double t) {
    if (clock == FAST_CLOCK) sample(&one->state, 1e-3);
    if (clock == SLOW_CLOCK) one->state.values[SLOW] += one->state.values[SAMPLES];
    return OK;
}
ACCESS(fmi3SetFloat64, fmi3GetFloat64, double)
ACCESS(fmi3SetFloat32, fmi3GetFloat32, float)
ACCESS(fmi3SetInt32, fmi3GetInt32, int32_t)
ACCESS(fmi3SetInt64, fmi3GetInt64, int64_t)
ACCESS(fmi3SetBoolean, fmi3GetBoolean, bool)
EXPORTED int fmi3GetFMUState(Unit *one, void **state) { return kept(one, state); }
EXPORTED int fmi3SetFMUState(Unit *one, void *state) { return back(one, state); }
EXPORTED int fmi3FreeFMUState(Unit *one, void **state) { return freed(state); }
EXPORTED int fmi3SerializedFMUStateSize(Unit *one, void *state, size_t *size) { return *size = sizeof(State), OK; }
EXPORTED int fmi3SerializeFMUState(Unit *one, void *state, char *bytes, size_t size) { return written(state, bytes, size); }
EXPORTED int fmi3DeserializeFMUState(Unit *one, const char *bytes, size_t size, void **state) { return reread(bytes, size, state); }
STUB(fmi3InstantiateModelExchange) STUB(fmi3EnterEventMode) STUB(fmi3Reset) STUB(fmi3GetString) STUB(fmi3SetString)
STUB(fmi3GetInt8) STUB(fmi3SetInt8) STUB(fmi3GetUInt8) STUB(fmi3SetUInt8) STUB(fmi3GetInt16) STUB(fmi3SetInt16) STUB(fmi3GetUInt16)
STUB(fmi3SetUInt16) STUB(fmi3GetUInt32) STUB(fmi3SetUInt32) STUB(fmi3GetUInt64) STUB(fmi3SetUInt64) STUB(fmi3GetBinary)
STUB(fmi3SetBinary) STUB(fmi3GetClock) STUB(fmi3SetClock) STUB(fmi3GetNumberOfVariableDependencies) STUB(fmi3GetVariableDependencies)
STUB(fmi3GetDirectionalDerivative) STUB(fmi3GetAdjointDerivative) STUB(fmi3EnterConfigurationMode) STUB(fmi3ExitConfigurationMode)
STUB(fmi3GetIntervalDecimal) STUB(fmi3GetIntervalFraction) STUB(fmi3GetShiftDecimal) STUB(fmi3GetShiftFraction)
STUB(fmi3SetIntervalDecimal) STUB(fmi3SetIntervalFraction) STUB(fmi3SetShiftDecimal) STUB(fmi3SetShiftFraction)
STUB(fmi3EvaluateDiscreteStates) STUB(fmi3UpdateDiscreteStates) STUB(fmi3EnterContinuousTimeMode) STUB(fmi3CompletedIntegratorStep)
STUB(fmi3SetTime) STUB(fmi3SetContinuousStates) STUB(fmi3GetContinuousStateDerivatives) STUB(fmi3GetEventIndicators)
STUB(fmi3GetContinuousStates) STUB(fmi3GetNominalsOfContinuousStates) STUB(fmi3GetNumberOfEventIndicators)
STUB(fmi3GetNumberOfContinuousStates) STUB(fmi3EnterStepMode) STUB(fmi3GetOutputDerivatives)
#endif
