"""``python -m kernelband``."""

from kernelband.cli import main

if __name__ == "__main__":
    main()
