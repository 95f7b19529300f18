"""Cases and files.

A case is tables: buses, lines, transformers, loads, generators with their plants. It is read from TOML,
RAW and DYR, MATPOWER, pandapower or PowSyBl, or made of rows, and says what is wrong with it before
anything is computed.
"""

# %% psmr.case
import psmr

case = psmr.case("wscc9")
print(case)

# %% psmr.case_path
print(psmr.case_path("wscc9/fault").name)

# %% psmr.read_case
case = psmr.read_case(psmr.case_path("wscc9"), loads="impedance")

# %% psmr.Case
print(case.tables["buses"][["number", "base_kv"]].head(3))
heavier = case.edit({"load5.p_mw": 150.0})

# %% psmr.make_case
two_buses = psmr.make_case(
    "two buses",
    base_mva=100.0,
    frequency_hz=50.0,
    buses=[{"number": 1, "base_kv": 110.0}, {"number": 2, "base_kv": 110.0}],
    lines=[{"from": 1, "to": 2, "r": 0.01, "x": 0.1}],
    loads=[{"bus": 2, "p_mw": 50.0, "q_mvar": 10.0, "model": "impedance"}],
    generators=[
        {
            "name": "G1",
            "bus": 1,
            "control": "slack",
            "v": 1.02,
            "machine": {"type": "ClassicalMachine", "s_n": 100.0, "h": 5.0, "d": 0.0, "x_d1": 0.3},
        }
    ],
)

# %% psmr.write_case
psmr.write_case(case, "mine.toml")

# %% psmr.add_dynamics
plants = psmr.add_dynamics(psmr.read_case(psmr.case_path("wscc9").with_name("wscc9.raw")), seed=1)
print(plants)

# %% psmr.winding_data
t_d0, t_d20, t_1, t_2 = psmr.winding_data(x=1.79, x1=0.169, x2=0.135, t1=4.3, t2=0.032, x_l=0.13)

# %% psmr.from_pandapower (needs pandapower)
import pandapower.networks  # pip install "psmr[pandapower]"

case9 = psmr.from_pandapower(pandapower.networks.case9())

# %% psmr.files.powsybl.from_powsybl (needs pypowsybl)
import pypowsybl  # pip install "psmr[cgmes]"

from psmr.files.powsybl import from_powsybl

ieee9 = from_powsybl(pypowsybl.network.create_ieee9())
