"""Who writes a variant: the rewriter, a model, or both.

Public surface:
    Author, Draft    the interface
    Informed, Story, Tried   what an author may want to know before it writes
    Rewriter         the moves of a strategy, as they are
    ModelAuthor, ModelSettings   a model behind an OpenAI-compatible API; ``openai`` is imported at its first question
    Both             the two together
    is_model         whether a variant's author is a model
"""

from kernelband.propose._base import Author as Author
from kernelband.propose._base import Draft as Draft
from kernelband.propose._base import Informed as Informed
from kernelband.propose._base import Story as Story
from kernelband.propose._base import Tried as Tried
from kernelband.propose._base import is_model as is_model
from kernelband.propose.both import Both as Both
from kernelband.propose.model import ModelAuthor as ModelAuthor
from kernelband.propose.model import ModelSettings as ModelSettings
from kernelband.propose.rewriter import Rewriter as Rewriter
