"""``python -m kernelband``.

Python then looks for modules in the folder that it is started in before all others, and that may be anybody's: a ``click.py`` there would
run. So it is taken out, unless this package itself is there.
"""

import os
import sys


def _leave_the_folder() -> None:
    here = os.getcwd()
    if sys.path and sys.path[0] in ("", here) and os.path.dirname(os.path.dirname(os.path.abspath(__file__))) != here:
        del sys.path[0]


if __name__ == "__main__":
    _leave_the_folder()
    from kernelband.cli import main

    main()
