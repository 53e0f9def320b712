"""Draft an entry for a kernel that nothing shows at work."""

from kernelband.workload.draft.entry import Draft as Draft
from kernelband.workload.draft.entry import draft_entry as draft_entry
from kernelband.workload.draft.text import Guess as Guess
