"""Runs and results.

`simulate` carries a system through time; a run has its trajectories, what happened, and how far the
numerics can be trusted.
"""

# %% psmr.simulate
import psmr

system = psmr.build(psmr.case("wscc9"))
fault = psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")
run = psmr.simulate(system, t_end=5.0, events=[fault])

# %% psmr.Run, psmr.study.run.data.RunData
print(run.judgement.headline)
print(run.frame(["G2.omega", "bus5.v"]).tail(2))

# %% psmr.Record
few = psmr.simulate(system, t_end=5.0, events=[fault], record=psmr.Record(["G*.omega", "bus5.v"]))
print(few.signals.names)

# %% psmr.load_run
run.save("fault.psmr")
again = psmr.load_run("fault.psmr")

# %% psmr.Criteria
strict = psmr.Criteria(angle_deg=120.0)
print(psmr.simulate(system, t_end=5.0, events=[fault], criteria=strict).judgement.colour)

# %% psmr.certify, psmr.study.certificate.certificate.Certificate
print(psmr.certify(system, psmr.SingleRate("TM", h=0.01)).lines()[1])

# %% psmr.study.record.stats.Stats
print(run.stats.notes()[0])

# %% psmr.read_study, psmr.study.file.study.Study, psmr.study.file.study.Output
study = psmr.read_study(psmr.case_path("wscc9/fault"))
print(study.t_end, study.events)

# %% psmr.cli.run_study.run_study
# %% psmr.read_trace
run.to_csv("trace.csv", ["G2.omega", "bus5.v"])
trace = psmr.read_trace("trace.csv")

# %% psmr.compare_trace
print(psmr.compare_trace(run, trace).table[["signal", "rms", "largest", "numerics"]].round(6))

# %% psmr.one_line
import partitioning

figure = psmr.one_line(system, partitioning.by_participation(system.linearise(), delta=20.0))

# %% psmr.figures.run.plots.trajectories
figure = run.plot("G*.omega")

# %% psmr.accept (minutes)
accepted = psmr.accept(
    "wscc9-ibr",
    plant="C1",
    scr=(3.0,),
    x_r=(10.0,),
    standards=("NERC PRC-029-1",),
    folder="bench",
    report=False,
)

# %% psmr.Accepted (minutes)
print(accepted.headline)

# %% psmr.view
page = psmr.view(psmr.case_path("wscc9/fault"), show=False)
page.stop()
