"""Puts a result in the words of pi or of OpenClaw right after each call that has none."""

from inspector.programs.pi_openclaw.placeholders import OPENCLAW_WORDS, PI_WORDS
from inspector.strategies.insert_results import result_strategy

STRATEGY = (
    result_strategy(
        "insert-pi-result",
        PI_WORDS,
        summary="the placeholder 'No result provided', as pi adds it",
        pros="It is what pi puts there in every request, so that the stored session is the one that the model has seen all along.",
        cons="It does not say that the tool may have run: a model reads it as a tool that returned nothing, and may run it again.",
        order=390,
    ),
    result_strategy(
        "insert-openclaw-result",
        OPENCLAW_WORDS,
        summary="the error that OpenClaw adds, marked as synthetic in its details",
        pros="OpenClaw recognizes it by its details, and puts a real result that turns up later in its place.",
        cons="Its own pull request 3565 said that synthetic errors confuse the conversation. Its words are about session files and repairs, which say nothing to a model.",
        order=400,
    ),
)
