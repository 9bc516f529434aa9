"""What must not come of any fault, by the name of its column."""

TORN, DISAGREE, FORKS, REFUSED, LOST = "torn", "disagree", "second fork", "undo refused", "bytes lost"
UNSETTLED, LEFT, FALSE, ODD = "unsettled", "left over", "false answer", "traceback"
FLAGS = {
    TORN: "after an act the store is neither as before nor as after, or SQLite has a journal to roll back",
    DISAGREE: "after a look the record says something else than the store, and the answer names no write that is needed",
    FORKS: "the same command wrote a second fork",
    REFUSED: "a repair that is in the store is not undone",
    LOST: "what no repair touches differs, a look wrote to the store, or after undo it is not as before",
    UNSETTLED: "after an act the record says something else than the store, or the same command did not write the repair",
    LEFT: "a lock, a temporary file or an empty folder of ours stays, even after a whole next repair and its undo",
    FALSE: "a command says that it did what it did not, or that nothing was written where something was",
    ODD: "a traceback, an error that is called a fault of Inspector, a page with status 500, or nothing for a minute",
}
