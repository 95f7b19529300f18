"""Random damage to the text of a data file."""

import random
import re

VALUES = (
    *(
        "0",
        "-1",
        "1",
        "2",
        "3",
        "4",
        "7",
        "99999",
        "-0.0",
        "1e300",
        "-1e300",
        "1e-320",
        "1e999",
        "nan",
        "inf",
    ),
    *(
        "",
        "''",
        "'",
        '"',
        "/",
        "abc",
        "1.5",
        "1.D2",
        "--1",
        "0x10",
        "9" * 5000,
        "é",
        "\0",
        "\u2028",
        "%",
        "[",
        "]",
    ),
)


def mutated(text: str, seed: int) -> bytes:
    """Return a text with one to three changes of bytes, fields or lines."""
    rng = random.Random(seed)
    data = text.encode()
    for _ in range(rng.randint(1, 3)):
        data = rng.choice((_byte, _cut, _field, _field, _field, _line))(data, rng)
    return data


def _byte(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    change = bytes([rng.choice((rng.randrange(256), ord(rng.choice("0123456789.,-'/ \n"))))])
    return data[:place] + rng.choice((change, b"")) + data[place + rng.randint(0, 1) :]


def _cut(data: bytes, rng: random.Random) -> bytes:
    first, last = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:first] + data[min(last, first + 200) :]


def _field(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    mark = b"," if b"," in lines[place] else b" " if b" " in lines[place].strip() else b"\t"
    fields = lines[place].split(mark)
    fields[rng.randrange(len(fields))] = rng.choice(VALUES).encode()
    lines[place] = mark.join(fields)
    return b"\n".join(lines)


def _line(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(3):
        case 0:
            del lines[first]
        case 1:
            lines.insert(second, lines[first])
        case 2:
            lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)


FACTORS = (0.0, -1.0, 1e-9, 1e-3, 0.1, 0.5, 1.5, 10.0, 1e3, 1e6)


def rescaled(text: str, seed: int) -> bytes:
    """Return a text in which one to three numbers are other ones: the file stays one, the plant may not."""
    rng = random.Random(seed)
    places = [m.span() for m in re.finditer(r"(?<![\w.'])-?\d+\.\d+", text)]
    for first, last in sorted(rng.sample(places, rng.randint(1, 3)), reverse=True):
        text = f"{text[:first]}{float(text[first:last]) * rng.choice(FACTORS)!r}{text[last:]}"
    return text.encode()
