"""Find and choose entries; capture; cases and their roles.

find_entries    what could be run to see a kernel at work, best first
choose          the named one, or the nearest with those to try after it; ``choose_entry`` the first of them
choose_sizes    a benchmark beside a test
choose_proof    a test with asserts for the final check
capture_cases   run the entry in an executor and get its cases
capture_first   the same of the first one of a choice that launches the kernel
draft.draft_entry   an entry where there is none, from text alone
configuration_of   what the repository around a file says about its runs
"""

from kernelband.workload.capture import Captured as Captured
from kernelband.workload.capture import Executor as Executor
from kernelband.workload.capture import capture_cases as capture_cases
from kernelband.workload.capture import modules_of as modules_of
from kernelband.workload.choose import Choice as Choice
from kernelband.workload.choose import choose as choose
from kernelband.workload.choose import choose_entry as choose_entry
from kernelband.workload.choose import choose_proof as choose_proof
from kernelband.workload.choose import choose_sizes as choose_sizes
from kernelband.workload.configuration import Configuration as Configuration
from kernelband.workload.configuration import configuration_of as configuration_of
from kernelband.workload.configuration import read_configuration as read_configuration
from kernelband.workload.entries import Found as Found
from kernelband.workload.entries import entries_of as entries_of
from kernelband.workload.entries import find_entries as find_entries
from kernelband.workload.trying import capture_first as capture_first
