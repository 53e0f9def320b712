"""Valid Python as moves see it: one module's tree with character offsets, the kernel's data flow, its launches and their knobs.

``kernelband.source`` finds the program in text that may be broken. Moves edit only files that parse, so they read the standard
library's tree.
"""

from kernelband.strategies.code.kernel import Access as Access
from kernelband.strategies.code.kernel import KernelView as KernelView
from kernelband.strategies.code.kernel import Loop as Loop
from kernelband.strategies.code.knob import Knob as Knob
from kernelband.strategies.code.launch import LaunchView as LaunchView
from kernelband.strategies.code.module import Module as Module
from kernelband.strategies.code.view import At as At
from kernelband.strategies.code.view import View as View
