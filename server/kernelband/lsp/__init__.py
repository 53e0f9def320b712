"""The language server: everything that LSP can say, for any editor. One file a feature; state is on the server object.

text         positions by LSP's rules, for any encoding
documents    pygls documents over them
protocol     which messages are taken, and what is answered to the others
frames       messages out of the bytes of a connection
greeting     the answer to ``initialize``, before all that is loaded
connection   reads and writes, and the end of the process
index        the kernels of each open document, parsed beside the loop
findings     what the history knows of a kernel
ranking      a run's variants, in the order of ``kernelband show``
original     what a run knows of the original: cases, launches, times
placing      a variant of another text, moved to the text at hand, or refused; which variant a text is
readings     what functions read of their module
hovering     what a hover says, as Markdown
markdown     words of others in it
child        one ``kernelband optimize`` process
liverun      what is known of a run, from its events
runs         the live runs, and what is told of them
trust        which folders may run code
settings     what the user's editor says
edits        what a document's last changes were
drift        the kernels of a moment ago in the text of now
standings    how the text at hand stands to what the history knows
applying     a variant as an edit of the client's documents
pages        documents about a variant: files, diff, report, commands
report       the report of a variant, as Markdown
shelf        documents as read-only files
logbook      the last lines of the log
bundle       what a report of a problem needs
anonymous    text without what says whose it is
server       the server object
features/    one file a request
"""
