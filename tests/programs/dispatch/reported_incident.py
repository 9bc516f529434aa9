"""The conversation of the incident report (E1). Filled in by us: call ids, inputs, result texts, step ids, text after the cuts."""

from tests.programs.dispatch.appended_stores import A, Store, T, U, appended, tc, th, tr

ID = "1a997b08-09c2-412c-b296-48703c8aaf58"
STEP = "turn-1782600000000-fill3d#0"
_FIND = tc("call_filled_1", "run_shell", {"command": "find ..."}, STEP)
_GREP = tc("call_filled_2", "run_shell", {"command": "grep ..."}, STEP)
APPENDS = (
    [U("hello")],
    [A(th("The user simply said hello..."), "Hello! How can I help you today?")],
    [U("Can you read some files in this project")],
    [A(th("The user is asking me to read files..."), "I'd be happy to read files...")],
    [U("the caching, there are 3 different percentages displayed")],
    [
        A(th("The user wants to look at files related to caching..."), "Let me explore the project structure...", _FIND, _GREP),
        T(tr("call_filled_1", "(find output)", "run_shell", step=STEP)),
        T(tr("call_filled_2", "", "run_shell", error=True, step=STEP)),
    ],
    [A(th("<function=run_shell>..."))],
)
E1 = appended(*APPENDS)


def before_turn_3() -> Store:
    """Rows 1 to 6: what turn 3 started from."""
    return appended(*APPENDS[:4])
