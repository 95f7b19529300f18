"""The internals of psmr that tests reach, by the module in which each stands: the one place that knows it.

A test imports what is public from where users do: `psmr`, `psmr.errors`, `psmr.cli`, `psmr.pencil` and
`partitioning`. What is not public it imports from here, and components of the library from
`tests.components`, so that moving code changes one line below. Tests of a paper may import that paper's own
modules. ``name>shown`` is a name that is shown under another one; ``x_module`` is the module itself, whose
names a test replaces. `tests/test_layers.py` holds all files to it. An entry that no test needs goes.
"""

from importlib import import_module
from typing import Any

MODULES = """
partitioning.matching: WORST_CONDITION condition scaled
partitioning.participation: modes
partitioning.repair: RequestedSplit
partitioning.storage: StoragePencil
psmr.acceptance.battery: Trial battery disturbance impedance requirements
psmr.acceptance.bench: BenchFile BenchSource phasors_alone
psmr.base.arguments: check_arguments settle_fields
psmr.base.declared: declared
psmr.base.errors: Mistakes SHOWN in_line printable has_control_characters
psmr.base.files: OutputTransaction abridged atomic unreadable write_texts ENDING uninterrupted
psmr.base.modules: broken_package optional
psmr.base.newton: NewtonEnd newton
psmr.base.numbers: real_in whole_in
psmr.base.threads: on_one_thread one_thread
psmr.cli.console: Progress console_module json_value
psmr.cli.entry: COMMANDS require_streams
psmr.cli.options: Fills
psmr.cli.run_study: run_study_module prepare run_study
psmr.cli.warmup: warmup_module
psmr.course.answers: ANSWERS
psmr.course.exercise: read_exercise
psmr.course.marking: mark
psmr.dae.compile.cache_files: acquire release read_entry cache_files_module root
psmr.dae.compile.code_cache: seconds_compiling compiled_statements
psmr.dae.compile.codegen: codegen_module
psmr.dae.compile.decorators: compiled lean unit
psmr.dae.compile.expression: Graph
psmr.dae.compile.kernels: constant_jacobian jacobian residual
psmr.dae.compile.numba_internals: numba_internals_module
psmr.dae.compile.restrict: restrict
psmr.dae.compile.shipped_code: shipped_code_module
psmr.dae.compile.trace: switches trace
psmr.dae.declare.component: Action local_rows local_variables nonnegative parameters_of positive NumericMath
psmr.dae.declare.device: form_for structure_for
psmr.dae.declare.sampled_forms: resting_form
psmr.dae.system.assemble: linear_system
psmr.dae.system.eigenvalues: eigen eigenvalues Modes modes_of
psmr.dae.system.kept: kept
psmr.dae.system.linear: LinearDae LinearSampler LinearSamples
psmr.dae.system.samplers: sample_changes
psmr.dae.system.system: System
psmr.devices.blocks: dead_band
psmr.devices.catalogue: FOLLOWS FORMS PREFIXES ROLES component_named components defaults role_parameters
psmr.devices.diagram: BlockDiagram
psmr.devices.dynamic_network.branch: CHARGED
psmr.devices.dynamic_network.travelling_wave: own_waves wave_values
psmr.devices.exciters.exciter: LIMITS compensated limited
psmr.devices.loads.composite.air_conditioner: air_conditioner_module
psmr.devices.loads.composite.start: start>start_of_composite
psmr.devices.loads.composite.static_parts: static_parts_module
psmr.devices.loads.motors: pull_out_power pull_out_slip
psmr.devices.placement: Placement placement
psmr.devices.protection.relays: NO_VOLTAGE
psmr.devices.switched_shunts: shunt_positions
psmr.devices.tap_changers: at_position
psmr.figures.chart: COLOURS FAINT INK PANEL TOP Area Arrow PanelAxis>ChartAxis Cells Dots Drawing Line Panel
    Text line_across band LinearScale LogScale SymLogScale tick_texts
psmr.figures.modes.figures: EXACT GREY WRONG deformation_dots eigenvalue_map compass participation_bars
    shape_drawing shortened>shortened_name
psmr.figures.modes.page: page
psmr.figures.modes.render: render
psmr.figures.run.lines: line_marks named_signals panels_with spikes_cut thinned
psmr.figures.run.oneline: one_line plants stress_layout
psmr.figures.run.plots: comparison panel_drawing trajectories pareto
psmr.figures.run.report: ReportOrigin run_page
psmr.figures.svg: svg
psmr.figures.svg_frame: width_of Plane
psmr.figures.sweep.maps: shades
psmr.figures.with_matplotlib: STYLE new_figure save styled draw_on to_matplotlib
psmr.files.case_file: CaseFile write_case
psmr.files.load_flow_rules: join_buses
psmr.files.powsybl: from_powsybl
psmr.files.psse.conventions: circuit_number proper_filter
psmr.files.psse.dyr_entries: entries unwrapped ALIASES MODELS component_for names_of parameters
    LOAD_KINDS>KINDS LOAD_RECORDS>RECORDS
psmr.files.psse.dyr_loads: LoadRecords StaticVarRecords
psmr.files.psse.dyr_relays: RelayRecords
psmr.files.psse.dyr_transformers: TransformerRecords
psmr.files.psse.rawx: SECTIONS
psmr.files.psse.record: sections split PsseRecord
psmr.files.psse.sections: read_sections
psmr.files.shipped: shipped_files
psmr.files.text: text_module
psmr.files.toml.document: read_document specification
psmr.files.toml.lines: Lines
psmr.files.toml.write: toml_pairs toml_text
psmr.integrate.constants: Constants TUNED
psmr.integrate.control.controller: error_control_module halts_of
psmr.integrate.control.engine: ControlledSteps FixedSteps
psmr.integrate.control.error_size: Disturbance SO_FAR begin_disturbance disturbance_module follow_disturbance
    size_with turning
psmr.integrate.control.grid: GridSteps times_off_grid
psmr.integrate.differentiation: FORMULAE
psmr.integrate.run.advance_span: autonomous span_module
psmr.integrate.run.integrate: integrate integrate_module
psmr.integrate.run.recorder: available_memory_module
psmr.integrate.run.start: KeptStarts start_module
psmr.integrate.run.trajectory: Counters
psmr.integrate.schemes.fixed_formula: FixedFormula
psmr.integrate.schemes.multirate: HISTORY lagrange_weights PREDICTED multirate_program_module
psmr.integrate.schemes.scheme: Scheme point_times rounded_down steady_program
psmr.integrate.schemes.stability: Spectrum longest_step mode_words stability_limit stability_polynomial
psmr.integrate.solve.algebraic_solve: algebraic_block algebraic_solve consistent impasse
psmr.integrate.solve.block: block_module Block make_block factorise make_lu ordering
psmr.integrate.solve.courses: Course NOTHING
psmr.integrate.solve.equations: evaluate move_limits project put_onto_limits
psmr.integrate.solve.lu: pivots_suit refactor refactor_ahead refactor_marked solve FIRST READY SECOND
    first_factors
psmr.integrate.solve.newton: ALL EVERY PLAIN VERY_DISHONEST factorise_at
psmr.integrate.solve.records: BOUNDED ITERATIONS LOWER_SLOT BlockPositions SCATTERED UPPER_SLOT VALID
    limits_of lu_of matrix_of newton_state_of positions_of reals search_of work_of VECTOR_CHUNK largest_part
    largest_size position
psmr.integrate.solve.status: DONE NOT_CONVERGED
psmr.integrate.solve.turning: turned
psmr.integrate.step.instructions: extrapolate
psmr.integrate.step.interpreter: EVALUATED_BLOCK CONTINUED DEPTH HERE REPEATED forget store_result note_cost
    no_stage_history write_start>start_from_history restore_variables
psmr.integrate.step.network_response: response_matrix response_matrix_module some_of_solution
psmr.integrate.step.program: words matrices Combine NOW Program Repeat Stage Iterate
psmr.integrate.step.program_table: AT_START COUNT EXTRAPOLATE LIST OPERATION
psmr.integrate.step.run_program: WHOLE run_program
psmr.integrate.step.stepper: Stepper
psmr.integrate.step.validity: next_trial
psmr.integrate.tableaux: PAIRS EXPLICIT COEFFICIENTS TABLEAUX tableaux_module
psmr.integrate.timeline.span: Change AsTripped first_span span_after spans_by_changes
psmr.network.case.checks: connected_parts monitored_branches
psmr.network.case.edit: devices_of
psmr.network.case.rows: admittance
psmr.network.case.tables: BusRow DeviceRow GeneratorRow LineRow LoadRow RelayRow ShuntRow TransformerRow
psmr.network.chain: chain
psmr.network.dynamic.dynamic_system: with_dynamics
psmr.network.dynamic.region: region_devices
psmr.network.powerflow.adjustment: adjusted
psmr.network.powerflow.power_balance: LoadPower Balance jacobian>power_flow_jacobian
psmr.network.powerflow.powerflow: PowerFlow power_flow
psmr.network.powerflow.reactive_limits: limit_residual
psmr.network.powerflow.voltages: keeps_limits
psmr.network.sequence.networks: Place sequence_networks Sections
psmr.network.signals.points: Points rates>variable_rates
psmr.network.signals.quantities: QUANTITIES Quantity computed_signals rate>quantity_rate
psmr.network.start.areas: with_gains
psmr.network.start.conversion: LoadShares convert_loads load_shares net_generators
psmr.network.start.equilibrium: StartingPlant>Plant Terminal solve_plants
psmr.network.start.initialise: check_residual with_algebraic_resolved
psmr.network.start.wiring: generator_plant plant_devices
psmr.network.topology.connections: Connections
psmr.network.topology.islands: DeadParts
psmr.network.topology.network: find_branch find_bus voltage_places
psmr.network.typical_plants: TypicalPlant typical_module
psmr.papers.kuznetsov_krasnikov.arc_length: ONE_STEP
psmr.papers.kuznetsov_krasnikov.runs: EPSILON boundary_layer
psmr.papers.shi_rojas.smes: BASES NODES amplification>smes_amplification
psmr.pencil.deformation.critical: critical_module StepJudge
psmr.pencil.deformation.deformation: deformation_module OneStepModes LARGEST_GAIN amplification objection
psmr.pencil.modes.search: find ShiftInvert
psmr.pencil.modes.shapes: shapes_at
psmr.pencil.modes.spectrum: match match_of unwrapped_logarithm Multipliers multipliers_of
psmr.pencil.modes.verdict: DampingLimit damping_ratio GROWTH Growth Kind Verdict excess_of judge
psmr.pencil.operator.equations: step_equations
psmr.pencil.operator.periodic: periodic_module
psmr.pencil.operator.published: published_multipliers
psmr.pencil.operator.sampled: SampledDae common_period exact_operator exact_time sampled_operator
    samples_within scheme_period workable
psmr.pencil.operator.step_operator: outermost step_map
psmr.sampled.fmu: Fmu
psmr.sampled.library: RMS CodeLibrary labels
psmr.study.certificate.certify: certify_module foreseen times_within
psmr.study.detectors.angles: LostSynchronism
psmr.study.detectors.controls: Collapse Controls
psmr.study.detectors.dead_parts: dead_part
psmr.study.detectors.detection: Detection Detectors detect detection_module MONITORS
psmr.study.detectors.detector: Finding digits_beyond
psmr.study.estimated_error: MARGIN Advice GlobalError
psmr.study.events.schedule: schedule with_event_devices
psmr.study.events.staircase: CLOSE
psmr.study.events.value: read_points
psmr.study.file.read_study: usual_folder
psmr.study.file.recipe: Recipe HOMES scheme_fields Split
psmr.study.file.study: load_system refuse_events Output EVENTS HEAD SIMULATION
psmr.study.outcome: judge_run Outcome
psmr.study.output: csv_floats_module check_writable write_text csv_table
psmr.study.record.advice: advice_module
psmr.study.record.dense_output: dense_points
psmr.study.record.equilibrium_after: equilibrium_near
psmr.study.record.reintegrate: judged_error reintegrate_module Samples quantities samples_of
psmr.study.run.saved: Decoder Encoder
psmr.study.run.set_up: size_module
psmr.study.run.simulate: constant_power_at_low_voltage
psmr.study.trace.trace: Trace
psmr.study.tuning.candidates: candidates_module cost_module moved_along_mode
psmr.study.tuning.tune: confirm write_study tune_module
psmr.study.tuning.tuning: ChosenModes EveryMode Target
psmr.sweep.axes.axis: Base advancing_together
psmr.sweep.axes.events: event_of
psmr.sweep.bisection: confirmed_border
psmr.sweep.dask_cluster: check_versions dask_cluster_module
psmr.sweep.measures: MeasureColumn Start
psmr.sweep.point_runner: PointRunner point_runner_module
psmr.sweep.store: read_rows store_module
psmr.sweep.workers: packed_kernels unpack_kernels workers_module
psmr.viewer.classroom: Classroom packed unpacked
psmr.viewer.page: Page
psmr.viewer.server: of_another_user server_module view_for_class
psmr.viewer.workbench: Job job_module Workbench
psmr.viewer.workers: Workers
"""


def places() -> dict[str, tuple[str, str]]:
    """Return the module and the name in it ("" for the module itself) of each name that is shown."""
    found: dict[str, tuple[str, str]] = {}
    for entry in MODULES.strip().replace("\n    ", " ").splitlines():
        module, _, words = entry.partition(":")
        for word in words.split():
            name, _, shown = word.partition(">")
            assert (shown or name) not in found, f"{shown or name} stands twice"
            found[shown or name] = (module, "" if name.endswith("_module") else name)
    return found


PLACES = places()


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(
            f"tests.internals has no {name}: public names come from psmr, components of the library from "
            "tests.components; what is neither is listed in MODULES"
        )
    module, own = PLACES[name]
    return getattr(import_module(module), own) if own else import_module(module)
