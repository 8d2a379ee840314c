"""The python3 load: json both ways, one regular expression over the text, a sort; twice. To be run with PYTHONMALLOC=malloc."""
import json
import re

for _ in range(2):
    rows = [{"id": i, "name": f"name {i * 7919 % 1000}", "tags": [str(i), str(i * 3)], "f": i / 7} for i in range(16000)]
    text = json.dumps(rows)
    back = json.loads(text)
    found = len(re.findall(r"name (\d+)", text))
    back.sort(key=lambda r: (r["name"], -r["id"]))
    assert found == len(back)
