"""`python -m fp8lab`: the command `fp8lab`, where its folder is not on the PATH."""

import sys

from fp8lab.cli import main

if __name__ == "__main__":
    sys.exit(main())
