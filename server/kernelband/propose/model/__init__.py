"""A model as author: asked over an OpenAI-compatible API, believed in nothing.

What it writes is data until ``gate`` has looked at its syntax tree; then it is a patch like any other.
"""

from kernelband.propose.model.author import ModelAuthor as ModelAuthor
from kernelband.propose.model.settings import ModelSettings as ModelSettings
