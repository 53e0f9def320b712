"""Who writes a variant: the rewriter, and later a model."""

from kernelband.propose._base import Author as Author
from kernelband.propose._base import Draft as Draft
from kernelband.propose.rewriter import Rewriter as Rewriter
