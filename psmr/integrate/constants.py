"""The constants of Newton, of the control of steps and of steps that fail: one frozen record.

Each has its unit, and where it comes from: a source, what it follows from, or what was measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from psmr.dae.compile.arguments import compile_time


def _constant(value: float, said: str) -> Any:
    """Return a constant by its value, and its unit and origin as ``"unit: origin"``."""
    unit, _, origin = said.partition(": ")
    return field(default=value, metadata={"unit": unit, "origin": origin})


@compile_time
@dataclass(frozen=True)
class Constants:
    """Constants that are nobody's choice; `metadata` of each field has its ``unit`` and its ``origin``."""

    # --- what is told apart -------------------------------------------------------------------------------
    least_tolerance: float = _constant(
        1e-12,
        "relative to max(1, |value|): some ten thousand times the rounding of a value: nothing is solved "
        "more accurately, and no values or instants that are nearer are told apart. A hundredth of the "
        "default Newton tolerance: an event is no place to save an iteration",
    )
    rounding: float = _constant(
        1e-9,
        "part of a step, or of max(1, |t|): chosen: a shorter rest of a span, or a shorter step, is "
        "rounding of the times, and far below any step that is meant",
    )
    negligible: float = _constant(
        1e-3,
        "part of the whole: chosen: what plays no part in three digits of a result: a kink or a limit "
        "so near to an end of its step, a disturbance so small beside one of size 1, a move of so little "
        "of a tolerance, an entry of the network's response so small beside its row's largest (a plant "
        "far away), a fold so near",
    )

    # --- how often something is tried ---------------------------------------------------------------------
    most_iterations: int = _constant(
        30,
        "iterations: where each halves the error, nine decades: Newton that has not converged then does "
        "not converge, and a bisection has found its instant",
    )
    most_rounds: int = _constant(
        100,
        "rounds: enough for a contraction of 3/4: limits that move with the states they hold, and "
        "corrections of a macro step until they agree; a continuation may take twice as many steps",
    )
    most_setbacks: int = _constant(
        8,
        "tries: chosen: tries that need not be better than the one before: kinks of limiters on the way "
        "of a damped solve, corrections in a row that made the difference larger, ends sought for a step "
        "at a kink",
    )
    least_part: float = _constant(
        2.0**-10,
        "part of a step or of an update: ten halvings: where a thousandth of a Newton update does not "
        "help, none will (Deuflhard, Newton Methods for Nonlinear Problems, section 3.3); of a step, it "
        "brackets the jump of a limiter, or a voltage that turns, to a thousandth",
    )

    # --- Newton -------------------------------------------------------------------------------------------
    divergence_limit: float = _constant(
        1e20,
        "residual: of an iterate that has run away, whose updates are small beside its values, so that it "
        "would seem to converge; currents of bolted faults are below 1e10 pu",
    )
    contraction_limit: float = _constant(
        0.25,
        "contraction: above it a kept matrix is renewed: six further iterations would gain fewer than the "
        "four decades that one or two with a new matrix gain, at the price of about three",
    )
    earlier_rate_power: float = _constant(
        0.8,
        "power of an earlier rate: Hairer and Wanner, Solving Ordinary Differential Equations II, section "
        "IV.8 (a starting value of eta^0.8). Where all angles drift together, in quiet steps of seconds, "
        "the whole of it left 46 tolerances",
    )
    hopeless_contraction: float = _constant(
        0.9,
        "contraction: a solve is given up whose new matrices contract by no more than this twice: most cycle "
        "between two sets of limits until the iterations are used up. That saves a tenth of the time of "
        "VariableStep on 2,000 buses with limits, and changes no step (measured)",
    )
    kept_network_change: float = _constant(
        2e-3,
        "s (h gamma of a stage): by so much it may differ from that at which the network's part of the "
        "matrix was factorised, while the devices' part is that of now. A step longer by 1.3 contracts by "
        "0.006 at h gamma of 0.5 ms, by 0.045 at 5 ms, by 0.14 at 30 ms, a switched limit by 0.005 "
        "(measured: 2,000 buses); with 0.01 s 1,354 buses take a tenth more iterations",
    )
    products_a_column: int = _constant(
        40,
        "products: that a column of a factorisation costs beside its products (measured: 2,000 buses, where "
        "the network has 0.54 of the time, and 1,354, where it has 0.25): a kept network pays where it has "
        "most of the work",
    )
    kept_matrix_iterations: int = _constant(
        4, "iterations: a kept matrix that took more is renewed at the next step: that costs two (measured)"
    )
    unchecked_solves: int = _constant(
        2,
        "solves: so many solves with a kept matrix go without a look at the residual after their first "
        "update, those of the stages between the first and the last one of ESDIRK32. That saves a tenth "
        "of the cost of VariableStep and changes no error (measured: Kundur, New England, NPCC, WECC, "
        "1,354 buses)",
    )
    unchecked_margin: float = _constant(
        4.0,
        "times the fall that was seen: chosen: by so much the fall is taken to be worse in a solve "
        "without a look",
    )
    least_fall: float = _constant(
        0.01,
        "part of the residual: and for no smaller than this: without it what is left adds up in quiet "
        "minutes (measured)",
    )
    continued_stage_share: float = _constant(
        0.1,
        "part of the tolerance: of a stage that is continued from its last results: what Newton leaves "
        "has one sign then, step after step, and adds up where all angles drift together. With a kept "
        "matrix the whole of it left 290 to 2,900 tolerances on Kundur's system, a tenth 80 to 810; the "
        "present point leaves 85 to 1,020",
    )
    drift_limit: float = _constant(
        0.02,
        "s (h gamma of a stage): from here on Newton is asked for more, in proportion: what it leaves in "
        "a speed turns an angle for the rest of the run. Of 60 s after a fault in New England's system at "
        "1e-4 one step of 7 s with 5e-4 tolerances in all speeds left 9.5 tolerances in the angles (0.14 "
        "so)",
    )
    newton_share: float = _constant(
        0.05,
        "part of the tolerance of a step: what is left to Newton, and what a kink that ends a step "
        "leaves behind it, so that the step does not end before it. Of Newton a twentieth changes no "
        "error by more than 2 % against a hundredth, and saves a sixth of the iterations; with a tenth "
        "left after kinks the largest error on Kundur's system at 1e-4 is a third larger, at no less "
        "cost (measured)",
    )
    loosest_tolerance: float = _constant(
        1e-2,
        "relative to max(1, |value|): chosen: Newton of a scheme that chooses its steps is never less "
        "accurate. 1e-4 costs 9 to 12 % more at tolerances of 1e-2 and above, at equal error (measured)",
    )

    # --- factors of Newton's matrix -----------------------------------------------------------------------
    pivot_threshold: float = _constant(
        1e-3,
        "part of the largest candidate: KLU's default: a diagonal entry is the pivot unless it is "
        "smaller, both relative to the sums of their rows (KLU compares scaled rows too). Rows of states "
        "grow with the step: compared as they are, they drive up to 13,000 pivots off the diagonal in "
        "steps of seconds with 9,241 buses, and the factors have up to six times as many entries",
    )
    largest_multiplier: float = _constant(
        1e5,
        "relative to its row: multipliers of a factorisation with that threshold stay below 1e3. Two "
        "decades beyond, rounding of 1e-16 is amplified to 1e-11, a tenth of the default Newton "
        "tolerance, and new pivots are due",
    )

    # --- a solution far away, or another one --------------------------------------------------------------
    first_continuation: float = _constant(
        0.1, "part of the way: chosen: the first step of the parameter of a continuation"
    )
    least_continuation: float = _constant(
        1e-4,
        "part of the way: chosen: a path that needs shorter steps turns back, so that it does not lead to "
        "a solution",
    )
    solution_distance: float = _constant(
        1e-2,
        "difference of a variable: two solutions are apart when a variable differs by more. At a fold two "
        "solutions meet: one that is nearer is the twin of the one that was followed, and ends with it",
    )

    # --- where Newton begins ------------------------------------------------------------------------------
    start_trial_interval: int = _constant(
        16,
        "solves: chosen: one solve in so many has the start that seemed to cost more, and its cost is "
        "believed",
    )
    cost_share: float = _constant(
        0.2, "part: chosen: each other solve has such a share in what the usual start costs"
    )
    continuation_margin: float = _constant(
        0.5,
        "residuals: a continuation has to save what it costs to keep and write it (measured: 0.6 of a "
        "residual on WSCC-9, 0.3 on Kundur's system and 1,354 buses)",
    )
    furthest_continuation: float = _constant(
        4.0, "times the last distance: chosen: a continuation over more is none"
    )
    largest_weights: float = _constant(
        1e3,
        "sum of the sizes of the weights: of an extrapolation: most stages are solved to a thousandth of "
        "what Newton is asked for",
    )

    # --- the controller -----------------------------------------------------------------------------------
    safety: float = _constant(
        0.9, "part of the step that would just do: Hairer, Norsett and Wanner I, section II.4"
    )
    largest_step_ratio: float = _constant(
        5.0, "times the step, or by this: Hairer, Norsett and Wanner I, section II.4: 1.5 to 5"
    )
    first_step_ratio: float = _constant(
        1e3, "times the step: chosen: after the first step of a span, short since nothing was known"
    )
    least_error: float = _constant(
        0.003,
        "tolerances: below it a step is made longer, and kept otherwise, with its Newton matrix. At equal "
        "error a run costs 0.76 (New England), 0.97 (a quiet minute of it), 0.70 (NPCC), 0.81 (WSCC-9) "
        "and 0.79 (1,354 buses) of one with a proportional-integral controller (0.7, 0.4) and a matrix kept "
        "up to 1.3; with 0.01 9 % more, with 0.001 7 % (measured)",
    )
    error_of_longer: float = _constant(
        0.02,
        "tolerances: what a longer step is to have; 0.01 costs 2 % more, and 0.05 4 % (measured)",
    )
    largest_increase: float = _constant(
        2.0, "times the step: chosen: at most; 1.5 costs a quiet minute a third more, 5 3 % in all (measured)"
    )
    largest_error: float = _constant(
        0.5, "tolerances: chosen: above it a step is made shorter, before the next one is refused"
    )
    error_of_shorter: float = _constant(0.1, "tolerances: chosen: what such a shorter step is to have")
    limit_tolerance: float = _constant(
        2.0,
        "tolerances of a step: by less a state is neither away from its limit nor beyond it, which is left "
        "to the error: NPCC costs 10 % less with 3 than with 1, at equal error (measured); with 3 ceilings "
        "of New England's exciters are met 5.5 tolerances of the run off",
    )
    run_tolerance: float = _constant(
        2.0,
        "tolerances of the run: what a step is allowed. With 1 the error of a run was 0.3 of what it was "
        "with a proportional-integral controller, with 3 the largest one passes three tolerances on Kundur's "
        "system (measured)",
    )
    shorter_steps_first: int = _constant(
        2,
        "times: so often is a step made shorter before a solve is given all that there is: where all "
        "angles drift that takes twenty times as many factorisations as a shorter step",
    )
    unsolved_step_factor: float = _constant(
        0.5,
        "part of the step: chosen: the longest that is tried after a step that Newton did not solve; "
        "after one that has no solution, where there is no estimate to go by, the square of it",
    )
    step_recovery_factor: float = _constant(
        1.1,
        "times the step: chosen: by so much that bound grows with each accepted step, since what Newton "
        "can solve changes",
    )
    first_step_change: float = _constant(
        0.3,
        "relative to max(1, |value|), times the root of the tolerance that the estimate's order asks for: "
        "the first step of a span moves no state by more; its error gives the next one. On 1,354 buses "
        "with 60 % converters a load step takes 24 steps and a local fault 47 at 1e-3, with a third of it "
        "27 and 50; with 0.5 they are as many, but between the ends of the first step the error is up to "
        "ten tolerances (AVR367.v_a), in place of two",
    )
    first_step_part: float = _constant(
        0.01,
        "part of the span: the first step is no longer: what begins after a rest must be met by some "
        "step. Where no equation reads the time nothing begins but what grows out of rounding, which no "
        "long step follows: a span that would move no state by more than a negligible part of the "
        "tolerance is one step",
    )
    mean_time_constant: float = _constant(
        0.2,
        "s: after it it is forgotten where angles were: a swing of 1 Hz deviates by 0.8 of its amplitude, "
        "a common frequency off by 1 mHz by 0.0013 rad. After the loss of 1 % of a load on WSCC's nine "
        "buses the speeds less their mean have an error of 1 % of their largest with it, with 0.3 s of 2 "
        "% (measured)",
    )
    switching_tolerance: float = _constant(
        0.3, "tolerances: chosen: kinks that make so much of a step together are left to the error control"
    )
    switching_rounding: float = _constant(
        0.05,
        "tolerances: kinks whose shares are below it are not solved for. On WECC's cases and NPCC's kinks "
        "make of a step at most six times the largest entry (measured), which is then below what matters, "
        "0.3; margins that rest at a kink change their signs in nearly every step, with shares below 1e-10. "
        "With 0.1 ACTIVSg2000 costs 2 to 5 % less than with 1e-6 (measured)",
    )

    # --- fast steps ahead of a step of the slow side ------------------------------------------------------
    extrapolated_weights: float = _constant(
        40.0,
        "sum of the sizes of the weights: of a polynomial by which the slow side is extrapolated: a "
        "parabola over a step that doubles has 29, over one that is kept 7",
    )
    fast_share: float = _constant(
        0.4,
        "part of Newton's tolerance: of a solve of the fast side, whose errors add up over the memory of its "
        "states, a hundred fast steps and more",
    )
    fast_unchecked: float = _constant(
        31.0,
        "solves: chosen: so many of the fast side take one update without a look at how far it fell",
    )
    fast_unseen: float = _constant(
        255.0,
        "points of the grid of fast steps: chosen: to so many there is no look at their error, which costs "
        "three of them and two factorisations of their matrix",
    )
    fast_memory: float = _constant(
        1e2,
        "points of the grid: chosen: over no more do errors of the fast side add up: what remembers longer "
        "is slow beside them, and its errors are small",
    )
    fast_coarser: float = _constant(
        0.05, "part of the error allowed: below it half as many fast steps have less than that: an eighth"
    )
    fast_divisions: int = _constant(
        1024, "fast steps from one point of the grid to the next: chosen: at most, as halvings in a step"
    )

    # --- the network's response of interface="schur" ------------------------------------------------------
    trial_change: float = _constant(
        1e-4,
        "change of a level in a trial: its square is far below the change that matters, 1e-4 times that "
        "far above Newton's tolerance",
    )
    trial_rounds: int = _constant(
        40,
        "solves of the fast block: most of a trial: a forming then does not cost more the finer the fast "
        "steps are. Over more of them the direction is that of the first part of a macro step",
    )
    trial_interval: int = _constant(5, "macro steps: from one trial to the next at most")
    predicted_gain_part: float = _constant(
        0.6,
        "part of the gain that a prediction bears: from which the response is formed anew: a line bears "
        "1/3, a parabola 1/7. Half of it forms twice as often and changes no error (measured)",
    )


TUNED = Constants()
"""The ones that are used."""


@compile_time
@dataclass(frozen=True)
class BdfConstants:
    """Constants of the backward differentiation formulae in a run, as `Constants`.

    Measured on WSCC-9, New England, NPCC and 1,354 buses with a local and a bolted fault, at equal error.
    """

    newton_share: float = _constant(
        0.1,
        "part of the tolerance of a step: what is left to Newton. A twentieth costs 5 % more; with a fifth "
        "WSCC-9 costs 8 % more and NPCC 4 % less (measured)",
    )
    loosest_tolerance: float = _constant(
        1e-2,
        "relative to max(1, |value|): chosen: Newton is never less accurate. 1e-4 costs 25 % more on 1,354 "
        "buses at loose tolerances (measured)",
    )
    least_matrix_ratio: float = _constant(
        0.7,
        "times the coefficient of the matrix: a kept one is renewed below it; 0.6 and 0.8 cost alike "
        "(measured)",
    )
    largest_matrix_ratio: float = _constant(
        1.4,
        "times the coefficient of the matrix: a kept one is renewed above it; 1.25 costs 4 % more (measured)",
    )
    matrix_contraction: float = _constant(
        0.1,
        "contraction: a kept matrix that contracts less is renewed at the next step: 10 % less on WSCC-9, "
        "whose rotors swing far, and nothing lost elsewhere (measured)",
    )
    slow_contraction: float = _constant(
        0.3,
        "contraction: above it a matrix is renewed at once: IDA's limit is 0.9, with a new step thereafter",
    )
    most_iterations: int = _constant(7, "iterations: chosen: a step that takes more is better made shorter")
    unchecked_steps: int = _constant(
        8,
        "steps: so many go without a second iteration where the contraction last measured promises enough; "
        "10 save 4 % on 1,354 buses and cost 3 % on WSCC-9 (measured)",
    )
    sure_part: float = _constant(
        0.01,
        "part of Newton's tolerance: chosen: a first update that is smaller is the last one, and says "
        "nothing of the contraction",
    )
    unchecked_margin: float = _constant(
        2.0, "times the contraction that was measured: chosen: by so much it is taken to be worse"
    )
    least_contraction: float = _constant(1e-3, "contraction: chosen: none is taken to be better")
    settled_steps: int = _constant(
        3,
        "steps: so many the pair takes after a kink before the formulae begin: where kinks follow each other "
        "it alone is cheaper. 2 cost 7 to 12 % more on NPCC and 1,354 buses, 5 as much on New England "
        "(measured)",
    )
    first_step_share: float = _constant(
        0.3, "tolerances: chosen: the error that the first step of the formulae is to have"
    )
    longest_first_step: float = _constant(
        0.5, "part of the last step of the pair: the points behind it lie within that step"
    )
    shortest_first_step: float = _constant(
        0.1,
        "part of the last step of the pair: what decayed in it has a third derivative there that its end has "
        "not. Without it New England costs 11 % more (measured)",
    )
    pair_step: float = _constant(
        3.0,
        "times the step of the formulae: the first one of the pair after a kink; with 6 New England and NPCC "
        "cost 21 % more (measured)",
    )
    safety: float = _constant(0.85, "part of the step that would just do: Shampine and Reichelt: 1/1.2")
    safety_below: float = _constant(0.77, "part of the step of the order below: Shampine and Reichelt: 1/1.3")
    safety_above: float = _constant(0.72, "part of the step of the order above: Shampine and Reichelt: 1/1.4")
    least_increase: float = _constant(
        1.2,
        "times the step: it stays where it could be lengthened by less; 1.1 and 1.4 cost alike (measured)",
    )
    early_increase: float = _constant(
        2.0,
        "times the step: one that could be lengthened so far is, before it was taken as often as its order",
    )
    largest_increase: float = _constant(3.0, "times the step: chosen: at most; 2 and 5 cost alike (measured)")
    early_decrease: float = _constant(
        0.8, "times the step: one that must be shortened so far is, before the next one is refused: chosen"
    )
    rising_increase: float = _constant(
        1.5, "times the step: order and step no longer rise from their start where it grows by less: chosen"
    )
    kept_decrease: float = _constant(
        0.95, "times the step: it is kept where another order would shorten it by less: chosen"
    )
    largest_decrease: float = _constant(0.5, "times the step: chosen: after one that was accepted")
    least_part: float = _constant(0.2, "times the step: chosen: at least, after one that was refused")
    unsolved_part: float = _constant(0.25, "times the step: IDA's: after one that Newton did not solve")
    least_error: float = _constant(
        1e-6, "tolerances: chosen: below it a step says no more than that it may be much longer"
    )
    drift_part: float = _constant(
        0.2,
        "times `drift_limit`: where Newton is asked for more: there are more steps, and what it leaves has "
        "one sign. Of 60 s after a fault on New England at 1e-4 all angles were off by 1.2 tolerances with "
        "the whole of it (measured)",
    )
    stagnant_choices: int = _constant(
        3, "choices: chosen: so often more has a step not grown than grown before it is asked why"
    )
    held_error: float = _constant(
        0.8,
        "tolerances: a step that cannot grow at an order above 2 goes on at order 2 where the error of that "
        "is below it: differences of what grows from step to step are as large at any order. WSCC-9 with a "
        "network of dynamic elements took four times as many steps without (measured)",
    )
    held_tolerance: float = _constant(
        2e-4,
        "tolerance of a step: below it errors of order 2 count by the root of how much, where no order above "
        "it is taken",
    )
    held_choices: int = _constant(
        10,
        "choices: chosen: so often more has a step of order 2 not grown than grown before the orders above "
        "are tried again",
    )
    held_range: float = _constant(
        4.0, "times the step, or by this: chosen: so far from there orders above 2 are taken again"
    )
    most_refusals: int = _constant(
        2, "times: a step that is refused more often is at something that is not smooth: the pair takes it"
    )
    kinked_share: float = _constant(
        0.9,
        "part: chosen: algebraic variables decide on a step where the states alone have less of its error",
    )
    tolerance: float = _constant(
        0.2,
        "times the tolerance of the run: that of a step of the formulae. With it the error of a run is "
        "0.06 to 1.7 tolerances (rms; measured: WSCC-9, New England, Kundur, microgrid; 1e-2 to 1e-6)",
    )


BDF = BdfConstants()
