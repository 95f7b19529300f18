/* SUNDIALS' IDA on functions that are called by address: residual, matrix, factorisation, solution.
 *
 * The Newton matrix and its factors belong to who made the functions. IDA sees a matrix that holds nothing and
 * a direct linear solver that calls them, so that it works on the very kernels and factors of the integrator
 * that it is compared with, and nothing between it and them is interpreted.
 *
 * IDA 6 and 7 are served. No function keeps what it is given but ida_new, whose problem must live as long.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <ida/ida.h>
#include <nvector/nvector_serial.h>
#include <sundials/sundials_config.h>
#include <sundials/sundials_linearsolver.h>
#include <sundials/sundials_matrix.h>
#include <sundials/sundials_types.h>

#if SUNDIALS_VERSION_MAJOR < 7
typedef int SUNErrCode;
#define NO_COMMUNICATOR NULL
#else
#define NO_COMMUNICATOR SUN_COMM_NULL
#endif

/* What is solved. Addresses are whole numbers; each function returns 0 where it succeeded. */
typedef struct {
  int64_t size, states; /* variables; the first ones are states */
  int64_t block;        /* what the functions work on */
  int64_t w, length;    /* buffer of variables, held inputs and time */
  int64_t (*residual)(int64_t block, int64_t w, int64_t length, double t, double pace, int64_t y, int64_t rate,
                      int64_t out, int64_t size);
  int64_t (*matrix)(int64_t block, int64_t w, int64_t length, double t, double factor, int64_t y, int64_t rate,
                    int64_t size);
  int64_t (*factorise)(int64_t block);
  int64_t (*solve)(int64_t block, int64_t b, int64_t x, int64_t size, double ratio);
} Problem;

enum { STEPS, ERROR_FAILURES, CONVERGENCE_FAILURES, RESIDUALS, MATRICES, SOLVES, COUNTS };

typedef struct {
  Problem problem;
  /* Of the rows of limited states: the factor of the last matrix, and what the last residual had. IDA evaluates
   * a residual before it asks for a new matrix, so that the two may differ once. */
  double pace, pace_of_residual;
  int64_t counts[COUNTS];
  SUNContext context;
  void *ida;
  N_Vector y, rate, is_state;
  SUNMatrix matrix;
  SUNLinearSolver solver;
  double *points; /* of a march that stores each step: time, then the variables */
  int64_t room;
} Driver;

static int64_t address(N_Vector v) { return (int64_t)(intptr_t)N_VGetArrayPointer(v); }

static int residual(sunrealtype t, N_Vector y, N_Vector rate, N_Vector out, void *user) {
  Driver *d = user;
  const Problem *p = &d->problem;
  d->counts[RESIDUALS]++;
  d->pace_of_residual = d->pace;
  return (int)p->residual(p->block, p->w, p->length, t, d->pace, address(y), address(rate), address(out), p->size);
}

static int jacobian(sunrealtype t, sunrealtype factor, N_Vector y, N_Vector rate, N_Vector r, SUNMatrix J,
                    void *user, N_Vector a, N_Vector b, N_Vector c) {
  Driver *d = user;
  const Problem *p = &d->problem;
  d->counts[MATRICES]++;
  d->pace = factor;
  return (int)p->matrix(p->block, p->w, p->length, t, factor, address(y), address(rate), p->size);
}

static SUNMatrix_ID matrix_kind(SUNMatrix A) { return SUNMATRIX_CUSTOM; }

static SUNErrCode zero(SUNMatrix A) { return 0; }

static SUNLinearSolver_Type solver_kind(SUNLinearSolver S) { return SUNLINEARSOLVER_DIRECT; }

static SUNErrCode initialise(SUNLinearSolver S) { return 0; }

static int factorise(SUNLinearSolver S, SUNMatrix A) {
  Driver *d = S->content;
  return d->problem.factorise(d->problem.block) ? 1 : 0; /* positive: IDA takes a shorter step */
}

static int solve(SUNLinearSolver S, SUNMatrix A, N_Vector x, N_Vector b, sunrealtype tolerance) {
  Driver *d = S->content;
  d->counts[SOLVES]++;
  const double ratio = d->pace / d->pace_of_residual;
  return (int)d->problem.solve(d->problem.block, address(b), address(x), d->problem.size, ratio);
}

static SUNErrCode leave(SUNLinearSolver S) {
  SUNLinSolFreeEmpty(S);
  return 0;
}

static void leave_matrix(SUNMatrix A) { SUNMatFreeEmpty(A); }

Driver *ida_new(const Problem *problem) {
  Driver *d = calloc(1, sizeof(Driver));
  d->problem = *problem;
  SUNContext_Create(NO_COMMUNICATOR, &d->context);
#if SUNDIALS_VERSION_MAJOR >= 7
  SUNContext_ClearErrHandlers(d->context); /* a run that failed says so by what ida_march returns */
#endif
  d->y = N_VNew_Serial(problem->size, d->context);
  d->rate = N_VNew_Serial(problem->size, d->context);
  d->is_state = N_VNew_Serial(problem->size, d->context);
  double *is_state = N_VGetArrayPointer(d->is_state);
  for (int64_t i = 0; i < problem->size; i++) is_state[i] = i < problem->states ? 1.0 : 0.0;
  d->matrix = SUNMatNewEmpty(d->context);
  d->matrix->ops->getid = matrix_kind;
  d->matrix->ops->zero = zero;
  d->matrix->ops->destroy = leave_matrix;
  d->solver = SUNLinSolNewEmpty(d->context);
  d->solver->content = d;
  d->solver->ops->gettype = solver_kind;
  d->solver->ops->initialize = initialise;
  d->solver->ops->setup = factorise;
  d->solver->ops->solve = solve;
  d->solver->ops->free = leave;
  return d;
}

void ida_free(Driver *d) {
  if (d->ida) IDAFree(&d->ida);
  SUNLinSolFree(d->solver);
  SUNMatDestroy(d->matrix);
  N_VDestroy(d->y);
  N_VDestroy(d->rate);
  N_VDestroy(d->is_state);
  SUNContext_Free(&d->context);
  free(d->points);
  free(d);
}

/* Create IDA at the first begin; forget what it knows at later ones. */
static int begin(Driver *d, double t, double tolerance, int suppress, int order) {
  int flag;
  if (d->ida) return IDAReInit(d->ida, t, d->y, d->rate);
  d->ida = IDACreate(d->context);
#if SUNDIALS_VERSION_MAJOR < 7
  IDASetErrFile(d->ida, NULL);
#endif
  if ((flag = IDAInit(d->ida, residual, t, d->y, d->rate))) return flag;
  IDASetUserData(d->ida, d);
  IDASStolerances(d->ida, tolerance, tolerance);
  IDASetMaxNumSteps(d->ida, 200000);
  IDASetMaxOrd(d->ida, order);
  IDASetId(d->ida, d->is_state);
  IDASetSuppressAlg(d->ida, suppress);
  if ((flag = IDASetLinearSolver(d->ida, d->solver, d->matrix))) return flag;
  return IDASetJacFn(d->ida, jacobian);
}

static void store(Driver *d, int64_t k, double t) {
  const int64_t width = d->problem.size + 1;
  if (k >= d->room) {
    d->room = d->room ? 2 * d->room : 64;
    d->points = realloc(d->points, sizeof(double) * width * d->room);
  }
  d->points[k * width] = t;
  memcpy(d->points + k * width + 1, N_VGetArrayPointer(d->y), sizeof(double) * d->problem.size);
}

static void count(Driver *d) {
  long steps, failures, convergence;
  IDAGetNumSteps(d->ida, &steps);
  IDAGetNumErrTestFails(d->ida, &failures);
  IDAGetNumNonlinSolvConvFails(d->ida, &convergence);
  d->counts[STEPS] += steps;
  d->counts[ERROR_FAILURES] += failures;
  d->counts[CONVERGENCE_FAILURES] += convergence;
}

/* From begin at y (and its rates) to end, where y is at the end then. Stores each step, or with `count_out`
 * writes the values at the times `at`. Returns 0, or IDA's negative flag. `suppress`: algebraic variables stay
 * out of the error test; `order`: the highest. */
int ida_march(Driver *d, double t, double t_end, double *y, const double *rate, double tolerance, int suppress,
              int order, int64_t count_out, const double *at, double *out) {
  const int64_t size = d->problem.size;
  memcpy(N_VGetArrayPointer(d->y), y, sizeof(double) * size);
  memcpy(N_VGetArrayPointer(d->rate), rate, sizeof(double) * size);
  d->pace = 1.0 / (t_end - t);
  int flag = begin(d, t, tolerance, suppress, order);
  if (flag) return flag;
  IDASetStopTime(d->ida, t_end);
  double now = t;
  for (int64_t k = 0; k < count_out; k++) {
    if ((flag = IDASolve(d->ida, at[k], &now, d->y, d->rate, IDA_NORMAL)) < 0) break;
    memcpy(out + k * size, N_VGetArrayPointer(d->y), sizeof(double) * size);
  }
  for (int64_t k = 0; flag >= 0 && flag != IDA_TSTOP_RETURN; k++) {
    flag = IDASolve(d->ida, t_end, &now, d->y, d->rate, count_out ? IDA_NORMAL : IDA_ONE_STEP);
    if (flag >= 0 && !count_out) store(d, k, now);
  }
  count(d);
  memcpy(y, N_VGetArrayPointer(d->y), sizeof(double) * size);
  return flag < 0 ? flag : 0;
}

void ida_counts(const Driver *d, int64_t *counts) { memcpy(counts, d->counts, sizeof d->counts); }
