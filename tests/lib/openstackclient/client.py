#!/usr/bin/python3
"""Runs OpenStack client commands one after the other in one process, which is much faster.

Each line of standard input is one command, its arguments separated by the character 0x1f. What
the command prints goes to the file given as argument; its exit code is the answer on standard
output.
"""
import logging
import os
import sys

from openstackclient import shell


def call(arguments, output):
    """Returns the exit code of one command, whose output goes to a file."""
    kept = os.dup(1), os.dup(2)
    sys.stdout.flush()
    sys.stderr.flush()
    with open(output, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        code = shell.main(arguments)
    except SystemExit as leaving:
        code = leaving.code
    except Exception as error:  # pylint: disable=broad-except
        print(error)
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, descriptor in zip((1, 2), kept):
            os.dup2(descriptor, number)
            os.close(descriptor)
        for handler in list(logging.getLogger("").handlers):
            logging.getLogger("").removeHandler(handler)  # each command adds its own
    return code if isinstance(code, int) else 0 if code is None else 1


def main():
    for line in sys.stdin:
        print(call(line.rstrip("\n").split("\x1f"), sys.argv[1]), flush=True)


main()
