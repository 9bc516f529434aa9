"""Five more synthetic conversations of the same store: a healthy one, and four other kinds of damage."""

from inspector.demo.appending import Append, Row, call, conversation_rows, error, result, text, thinking

HEALTHY = "7c0d3f5e-2b86-4e19-9a47-d1f60b28c3e5"
MERGED_INTO_ASSISTANT = "e4a91b72-6d3c-4f08-b5d2-09c7e86f1a34"
UNANSWERED_CALL = "52f8c6d9-a017-4b3e-8e65-7bd41f92c0a8"
TRAILING_ERROR = "b93e1d04-58fa-4c72-a6b1-e20d9c475f16"
UNREADABLE_ROW = "0d6a27f3-c94b-4185-9f3e-6185ad7be209"

UNREADABLE = "{this is not valid json"


def _healthy() -> list[Row]:
    # Batch era: one append per turn, so msgIdx counts on and every reader agrees. No stepId yet.
    turns: tuple[Append, ...] = (
        (
            ("user", (text("Which port does the dev server listen on, and can I change it?"),)),
            ("assistant", (text("Let me look at the configuration."), call("call_41d7", "read_file", {"path": "vite.config.ts"}))),
            (
                "tool",
                (result("call_41d7", "read_file", "export default defineConfig({\n  server: { port: 5173, strictPort: true },\n});\n"),),
            ),
            (
                "assistant",
                (text("It listens on 5173 and fails if that is taken (`strictPort`). Change `server.port` in `vite.config.ts`."),),
            ),
        ),
        (
            ("user", (text("thanks, and for one run only?"),)),
            ("assistant", (text("Pass it on the command line: `bun run dev -- --port 5180`."),)),
        ),
    )
    return conversation_rows(HEALTHY, turns, 1781000412907, 1781000538120, {"cwd": "/home/dev/dispatch"})


def _merged_into_assistant() -> list[Row]:
    # The report's bug in its silent form: after a tool result, answers and the user's next message share msgIdx 0.
    first, second = "turn-1782468081442-b8t1yk#0", "turn-1782468199310-f5r0nw#0"
    turns: tuple[Append, ...] = (
        (("user", (text("Why is the settings page slow to open?"),)),),
        (
            (
                "assistant",
                (
                    text("I'll look at what it loads first."),
                    call("call_a3c0", "run_shell", {"command": "grep -n 'await' src/routes/settings/+page.ts"}, first),
                ),
            ),
            (
                "tool",
                (
                    result(
                        "call_a3c0",
                        "run_shell",
                        "12:  const models = await listModels();\n13:  const usage = await loadUsage();\n14:  const keys = await listKeys();\n",
                        step_id=first,
                    ),
                ),
            ),
        ),
        (
            (
                "assistant",
                (text("It awaits three requests one after the other. Running them together should make it about three times faster."),),
            ),
        ),
        (("user", (text("ok do that, but leave listKeys out of it"),)),),
        (
            (
                "assistant",
                (
                    thinking("listKeys stays sequential. I will put the other two into Promise.all."),
                    call(
                        "call_a3c1",
                        "edit_file",
                        {
                            "path": "src/routes/settings/+page.ts",
                            "oldText": "const models = await listModels();\n  const usage = await loadUsage();",
                            "newText": "const [models, usage] = await Promise.all([listModels(), loadUsage()]);",
                        },
                        second,
                    ),
                ),
            ),
            ("tool", (result("call_a3c1", "edit_file", "Edited src/routes/settings/+page.ts (1 replacement).", step_id=second),)),
        ),
        (("assistant", (text("Done: models and usage load together, listKeys still waits for them."),)),),
        (("user", (text("now undo the listKeys part"),)),),
    )
    return conversation_rows(MERGED_INTO_ASSISTANT, turns, 1782468081442, 1782468312075, {"model": "umans/umans-flash"})


def _unanswered_call() -> list[Row]:
    # The server was restarted between the call and its result, and the user simply went on.
    turns: tuple[Append, ...] = (
        (("user", (text("Run the migration on the staging database"),)),),
        (("assistant", (call("call_9e54", "run_shell", {"command": "bun run migrate --env staging"}, "turn-1782295207731-q2j6sv#0"),)),),
        (("user", (text("did it finish? the connection dropped"),)),),
        (("assistant", (text("I cannot see a result of the migration. Check the `_migrations` table before you run it again."),)),),
    )
    return conversation_rows(UNANSWERED_CALL, turns, 1782295207731, 1782295391266, {"cwd": "/home/dev/billing"})


def _trailing_error() -> list[Row]:
    turns: tuple[Append, ...] = (
        (("user", (text("Summarise the open pull requests"),)), ("assistant", (error("HTTP 401: model not supported", "401"),))),
    )
    return conversation_rows(TRAILING_ERROR, turns, 1782551640815, 1782551641302, {"model": "opencode/glm-5.2"})


def _unreadable_row() -> list[Row]:
    turns: tuple[Append, ...] = (
        (
            ("user", (text("Rename the package to dispatch-web everywhere"),)),
            (
                "assistant",
                (
                    text("calling"),
                    call("call_0b7f", "run_shell", {"command": "grep -rl dispatch-ui packages"}, "turn-1782036611049-w9d3lm#0"),
                ),
            ),
        ),
    )
    rows = conversation_rows(UNREADABLE_ROW, turns, 1782036611049, 1782036615514, {})
    return [(space, key, UNREADABLE if key.endswith(":chunk:0000000002") else value) for space, key, value in rows]


def other_rows() -> list[Row]:
    return [*_healthy(), *_unreadable_row(), *_unanswered_call(), *_merged_into_assistant(), *_trailing_error()]


OTHERS = (HEALTHY, UNREADABLE_ROW, UNANSWERED_CALL, MERGED_INTO_ASSISTANT, TRAILING_ERROR)
"""Native ids in the order of their creation."""
