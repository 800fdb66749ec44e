"""Process that runs `flask` commands as forks of itself, one after another. Its argument is the path of its socket.

It uses no module of the tests, because it is a script.
"""

import gc
import json
import os
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path


def serve(path: str) -> None:
    """Build an application, which imports its modules, and fork for each connection."""
    import flask.cli

    from app.factory import create_app
    from config import Settings

    create_app(Settings.from_environment({"INSTANCE_DIR": f"{path}.instance"}))
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{path}.new")
        listener.listen()
        # The socket gets its name when it accepts connections.
        Path(f"{path}.new").rename(path)
        while True:
            connection, _ = listener.accept()
            with connection:
                child = os.fork()
                if child == 0:
                    os._exit(run(connection, flask.cli.main))
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                connection.send(bytes([status % 256]))


def run(connection: socket.socket, main: Callable[[], object]) -> int:
    """Run the received command with its environment, folder and files. Return its exit status."""
    data, files, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    while not data.endswith(b"\0"):
        data += connection.recv(1 << 16)
    arguments, folder, environment = json.loads(data[:-1])
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["flask", *arguments]
    status: object = 0
    try:
        main()
    except SystemExit as error:
        status = error.code
    except BaseException:
        traceback.print_exc()
        status = 1
    if isinstance(status, str):
        print(status, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    return status if isinstance(status, int) else int(status is not None)


if __name__ == "__main__":
    serve(sys.argv[1])
