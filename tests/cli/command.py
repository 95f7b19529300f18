"""The command line as a function."""

from psmr import cli


def call(capsys, *argv):
    """Return exit code, output and errors of a command."""
    code = cli.main([str(a) for a in argv])
    out, err = capsys.readouterr()
    return code, out, err
