"""Whether a session can be resumed, as one word of JSON; plain, so that an answer from an earlier run is read without what works it out."""

RESUMED, DAMAGED, BROKEN, UNASKED, UNKNOWN = "resumable", "damaged", "broken", "unasked", "unknown"
"""What a session is: fine; with an error that its next request survives; one that nobody can resume; one that nobody resumes; one that was not read whole here."""
WORDS = {
    RESUMED: "can be resumed",
    DAMAGED: "can be resumed and has damage",
    BROKEN: "cannot be resumed",
    UNASKED: "is not resumed by itself",
    UNKNOWN: "was not read whole",
}
"""The same at the end of a sentence about a session."""
