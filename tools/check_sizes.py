"""Source files aim at 300 lines; more than 800 is a defect and fails the check."""

import subprocess
import sys

LIMIT, AIM = 800, 300


def main() -> int:
    names = subprocess.run(
        ["git", "ls-files", "*.cpp", "*.h", "*.py", "*.sh"], capture_output=True, text=True, check=True
    ).stdout.split()
    failed = False
    for name in names:
        with open(name, encoding="utf-8") as file:
            lines = sum(1 for _ in file)
        if lines > LIMIT:
            print(f"{name}: {lines} lines, at most {LIMIT} are allowed", file=sys.stderr)
            failed = True
        elif lines > AIM:
            print(f"note: {name} has {lines} lines (aim: {AIM})")
    if not failed:
        print("file sizes: ok")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
