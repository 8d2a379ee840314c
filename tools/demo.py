#!/usr/bin/env python3
"""demo - some seconds of ordinary work of the standard library, in threads, for `make demo` to measure

Each thread makes records, sorts them, packs them as JSON, compresses and hashes the text, and reads it back.
"""
import hashlib
import json
import random
import sys
import threading
import zlib


def records(seed, n):
    dice = random.Random(seed)
    return [{"id": i, "name": "item-%d" % dice.randrange(n), "weight": dice.random(), "tags": ["a", "b", str(i % 7)]}
            for i in range(n)]


def work(seed, rounds, results):
    digest = hashlib.sha256()
    for r in range(rounds):
        rows = records(seed * 1000 + r, 4000)
        rows.sort(key=lambda row: (row["name"], row["weight"]))
        text = json.dumps(rows).encode()
        packed = zlib.compress(text, 6)
        digest.update(hashlib.sha512(packed).digest())
        again = json.loads(zlib.decompress(packed))
        assert again == rows
    results[seed] = digest.hexdigest()[:16]


def main():
    threads, rounds = 3, int(sys.argv[1]) if len(sys.argv) > 1 else 15
    results = {}
    crew = [threading.Thread(target=work, args=(seed, rounds, results), name="worker-%d" % seed) for seed in range(threads)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    for seed in sorted(results):
        print("worker-%d %s" % (seed, results[seed]))


main()
