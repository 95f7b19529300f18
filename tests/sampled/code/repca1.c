/* The plant control REPCA1 at samples, by Euler's rule, as psmr/devices/renewables/repca1.py has its equations:
   states y_m, x_q, x_l, p_m, x_p, p_l, x_theta; no branch is monitored. EPRI 3002027129 (2023), REPC_A. */
#include "interface.h"
#include <math.h>

static const double PI = 3.14159265358979323846;

typedef struct {
    double v_re, v_im, v_re_r, v_im_r, p_e, q_e, ref, p_plant, f_ref;
} Inputs;

typedef struct {
    double q_ext, p_ref;
} Outputs;

typedef struct {
    double T, f_n, vc_flag, ref_flag, f_flag, t_fltr, k_p, k_i, t_ft, t_fv, v_frz, r_c, x_c, k_c, e_max, e_min;
    double dbd1, dbd2, q_max, q_min, k_pg, k_ig, t_p, fdbd1, fdbd2, fe_max, fe_min, p_max, p_min, t_g, d_dn, d_up;
    double t_f;
} Parameters;

#define IN(name) {name, "", "pu", REAL, 1}
#define OF(name) {name, "", "", "", REAL, 1, {.real = 1.0}, {.real = 0.0}, {.real = 0.0}}

static const Signal inputs[] = {
    IN("v_re"), IN("v_im"), IN("v_re_r"), IN("v_im_r"), IN("p_e"), IN("q_e"), IN("ref"), IN("p_plant"), IN("f_ref"),
};
static const Signal outputs[] = {IN("q_ext"), IN("p_ref")};
static const Parameter parameters[] = {
    OF("T"), OF("f_n"), OF("vc_flag"), OF("ref_flag"), OF("f_flag"), OF("t_fltr"), OF("k_p"), OF("k_i"), OF("t_ft"),
    OF("t_fv"), OF("v_frz"), OF("r_c"), OF("x_c"), OF("k_c"), OF("e_max"), OF("e_min"), OF("dbd1"), OF("dbd2"),
    OF("q_max"), OF("q_min"), OF("k_pg"), OF("k_ig"), OF("t_p"), OF("fdbd1"), OF("fdbd2"), OF("fe_max"), OF("fe_min"),
    OF("p_max"), OF("p_min"), OF("t_g"), OF("d_dn"), OF("d_up"), OF("t_f"),
};

static const Info info = {
    {2, 0, 0, 0}, "REPCA1 at samples", "1.0", "Plant control", "", "", "psmr", "", "", "", "",
    1e-3, 2, 9, inputs, 2, outputs, 33, parameters, 0, 0, 7,
};

static double clip(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

static double band(double x, double low, double high) { return x >= high ? x - high : x <= low ? x - low : 0.0; }

EXPORTED const Info *Model_GetInfo(void) { return &info; }

EXPORTED int Model_CheckParameters(Instance *one) { return 0; }

EXPORTED int Model_Initialize(Instance *one) { return 0; }

EXPORTED int Model_Outputs(Instance *one) {
    const Parameters *p = one->parameters;
    const Inputs *u = one->inputs;
    Outputs *y = one->outputs;
    double *x = one->doubles, v = hypot(u->v_re_r, u->v_im_r), square = u->v_re * u->v_re + u->v_im * u->v_im;
    double i_re = (u->p_e * u->v_re + u->q_e * u->v_im) / square, i_im = (u->p_e * u->v_im - u->q_e * u->v_re) / square;
    double re = u->v_re_r - p->r_c * i_re + p->x_c * i_im, im = u->v_im_r - p->r_c * i_im - p->x_c * i_re;
    double held = p->ref_flag < 1 ? u->q_e : p->vc_flag < 1 ? v + p->k_c * u->q_e : hypot(re, im);
    double error = clip(band(u->ref - x[0], p->dbd1, p->dbd2), p->e_min, p->e_max);
    double controlled = clip(p->k_p * error + x[1], p->q_min, p->q_max), margin = v - p->v_frz;
    double gate = clip(margin / 1e-3, 0.0, 1.0);
    double along = u->v_re_r * cos(x[6]) + u->v_im_r * sin(x[6]), across = u->v_im_r * cos(x[6]) - u->v_re_r * sin(x[6]);
    double ahead = atan2(across, along);
    double slow = band(u->f_ref - 1.0 - ahead / (2.0 * PI * p->f_n * p->t_f), p->fdbd1, p->fdbd2);
    double droop = p->d_dn * fmin(slow, 0.0) + p->d_up * fmax(slow, 0.0);
    double of_power = clip(u->p_plant + droop - x[3], p->fe_min, p->fe_max);
    double order = clip(p->k_pg * of_power + x[4], p->p_min, p->p_max);

    y->q_ext = x[2] + p->t_ft / p->t_fv * (controlled - x[2]);
    y->p_ref = p->f_flag < 1 ? u->p_plant : x[5];
    x[0] += p->T * (held - x[0]) / p->t_fltr;
    x[1] = clip(x[1] + p->T * p->k_i * error * gate, p->q_min, p->q_max);
    x[2] += p->T * (controlled - x[2]) / p->t_fv;
    x[3] += p->T * (u->p_e - x[3]) / p->t_p;
    x[4] = clip(x[4] + p->T * p->k_ig * of_power, p->p_min, p->p_max);
    x[5] += p->T * (order - x[5]) / p->t_g;
    x[6] += p->T * ahead / p->t_f;
    return 0;
}
