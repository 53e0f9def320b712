"""Everything that was found, in SQLite. One writer for each run; everybody may read.

Public surface (other rooms import from here only, and ``records`` for the row types):
    find_place           the database file for --db or the default
    Store                open to write or to read
    examine              whether a database can be used, without writing
    runs, trials         the queries
    outcome              what became of a variant, and the word for it
    view                 a run and its variants, decoded and in order, as far as they are shown
    best_so_far          the variant to look at first, of a run that was cut off
    kernel_key           what must agree for a figure to hold
    this_process         the owner of what this process writes
"""

from kernelband.history import runs as runs
from kernelband.history import trials as trials
from kernelband.history.key import kernel_key as kernel_key
from kernelband.history.place import Place as Place
from kernelband.history.place import find_place as find_place
from kernelband.history.process import Owner as Owner
from kernelband.history.process import this_process as this_process
from kernelband.history.store import Store as Store
from kernelband.history.store import examine as examine
from kernelband.history.view import best_so_far as best_so_far
