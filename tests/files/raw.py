"""Texts of PSS/E RAW files for the tests: a small system with everything that is read, in every version."""

RATES = "0.0,0.0,0.0"
TWELVE = ",".join(["0.0"] * 12)


def raw_text(version: int = 33, **changed: str) -> str:
    """Return a RAW file; `changed` gives other text for a section (bus, load, ... with _ for blanks)."""
    new, newest = version >= 34, version >= 35
    rates = TWELVE if new else RATES
    rated = "'A SET'" if version >= 36 else rates
    name = "'a name, with a comma'," if new else ""
    bounds = "" if version == 32 else ",1.1,0.9,1.1,0.9"
    node = "0," if newest else ""
    sections = {
        "bus": "\n".join(
            [
                f"1,'ONE / A     ', 100.0,3,1,1,1,1.05,0.0{bounds}",
                f"2,'TWO         ', 100.0,2,1,1,1,1.02,0.0{bounds}",
                f"3,'THREE       ',  20.0,1,1,1,1,1.00,0.0{bounds}",
                f"4,'FOUR        ',  10.0,1,1,1,1,1.00,0.0{bounds}",
                f"5,'GONE        ', 100.0,4,1,1,1,1.00,0.0{bounds}",
            ]
        ),
        "load": "2,'1 ',1,1,1,40.0,10.0,20.0,5.0,30.0,-6.0,1,1\n"
        "3,'1 ',1,1,1,10.0,5.0\n"
        "3,'B ',1,1,1,10.0,2.0,0.0,0.0,-4.0,0.0\n"
        "4,'1 ',0,1,1,99.0,99.0\n5,'1 ',1,1,1,99.0,99.0",
        "fixed shunt": "3,'1 ',1,0.5,12.0",
        "generator": f"1,'1 ',0.0,0.0,999.0,-999.0,1.05,0,{node}200.0,0.0,0.2,0.0,0.0,1.0,1,100.0,200.0,0.0\n"
        f"2,'G1',50.0,0.0,60.0,-40.0,1.02,0,{node}100.0,0.0,0.3,0.0,0.0,1.0,1,100.0,90.0,0.0\n"
        f"2,'G2',50.0,0.0,60.0,-40.0,1.02,0,{node}100.0,0.0,0.3,0.0,0.0,1.0,0,100.0,90.0,0.0",
        "branch": f"1,2,'1 ',0.01,0.10,0.02,{name}{rates},0.0,0.0,0.0,0.0,1,1,0.0,1,1.0\n"
        f"1,2,'2 ',0.01,0.10,0.02,{name}{rates},0.001,0.02,0.001,0.02,1\n"
        f"2,1,'X ',0.01,0.10,0.02,{name}{rates},0.0,0.01,0.0,0.0,0\n"
        f"1,5,'1 ',0.01,0.10,0.02,{name}{rates}",
        "switching device": f"1,2,'S ',0.0002,{rated},0,1,1,1,'A SWITCH'" if new else "",
        "transformer": "\n".join(
            [
                "2,3,0,'1 ',1,1,1,0.001,-0.01,2,'T             ',1,1,1.0",
                "0.01,0.1,100.0",
                "1.02,0.0,30.0",
                "0.98,0.0",
                "2,3,4,'1 ',1,1,1,0.0,0.0,2,'THREE WINDINGS',1",
                "0.01,0.10,100.0,0.02,0.16,100.0,0.03,0.20,100.0,1.0,0.0",
                f"1.01,0.0,0.0,{rates},0,0",
                f"1.00,0.0,-30.0,{rates},0,0",
                f"0.99,0.0,0.0,{rates},0,0",
            ]
        ),
        "area": "1,1,0.0,10.0,'AREA'",
        **dict.fromkeys(("two-terminal dc", "vsc dc", "impedance correction", "multi-terminal dc"), ""),
        **dict.fromkeys(("multi-section line", "zone", "inter-area transfer", "owner", "facts"), ""),
        "switched shunt": (
            "3,'1 ',1,0,1,1.1,0.9,0,0,100.0,'',7.0" if newest else "3,1,0,1,1.1,0.9,0,100.0,'',7.0"
        ),
        "gne": "",
        "induction machine": "",
    }
    if new:
        sections = {"system-wide": "GENERAL, THRSHZ=0.0001\nRATING, 1, 'RATE1 ', 'RATING 1'"} | sections
    else:
        del sections["switching device"]
    if version >= 36:
        sections |= {"load type": "'RES','RESIDENTIAL'", "interface": "", "interface element": ""}
        sections = _after(
            sections, "fixed shunt", "voltage droop control", "'DROOP',1,1,0.0,-9.0,9.0,0.99,1.01"
        )
        ratings = f"'A SET','OF A SWITCH',{TWELVE}"
        sections = _after(sections, "generator", "switching device rating set", ratings)
    if newest:
        sections["substation"] = ""
    sections |= {key.replace("_", " "): text for key, text in changed.items()}
    names = list(sections)
    lines = [f"0, 100.0, {version}, 0, 1, 50.0 / made for a test", "A SMALL SYSTEM", "of the tests"]
    for section, following in zip(names, [*names[1:], ""], strict=True):
        lines += ["@!  a line of column titles"] if new else []
        lines += sections[section].splitlines()
        begin = f", BEGIN {following.upper()} DATA" if following else ""
        lines.append(f"0 / END OF {section.upper()} DATA{begin}")
    return "\n".join([*lines, "Q", ""])


def _after(sections: dict[str, str], name: str, new: str, text: str) -> dict[str, str]:
    """Return the sections with a new one behind another."""
    found = {}
    for section, own in sections.items():
        found[section] = own
        if section == name:
            found[new] = text
    return found
