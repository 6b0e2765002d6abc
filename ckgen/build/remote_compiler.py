"""A compiler launcher of `ckgen build --cluster`: has the compiler run where the build's process says.

CMake puts `python remote_compiler.py` in front of each compiler. It sends the command to the socket that the variable
CKGEN_COMPILERS names, and ends as the compiler did. Without the variable it becomes the compiler, so that a plain
`cmake --build` works too. Only Python's own library is imported, and it starts in 20 ms.
"""

import json
import os
import socket
import sys

SOCKET = "CKGEN_COMPILERS"
PASSED = ("HIP_PLATFORM", "LC_ALL")  # variables that the build sets for a compiler


def main() -> int:
    """Have the command of the arguments run, and return its exit status."""
    command, where = sys.argv[1:], os.environ.get(SOCKET)
    if where is None:
        os.execvp(command[0], command)
    environment = {name: os.environ[name] for name in PASSED if name in os.environ}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(where)
        connection.sendall(json.dumps([os.getcwd(), command, environment]).encode() + b"\n")
        status, out, err = json.loads(connection.makefile().read())
    sys.stdout.write(out)
    sys.stderr.write(err)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
