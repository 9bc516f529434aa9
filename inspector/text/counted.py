"""A number with its noun, as a sentence has it."""


def counted(number: int, word: str) -> str:
    return f"{number:,} {word if number == 1 else f'{word[:-1]}ies' if word.endswith('y') else f'{word}s'}"
