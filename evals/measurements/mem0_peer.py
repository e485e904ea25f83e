"""The other side of against_mem0, run by an environment that has mem0 and nothing of ours: a task in, figures out."""

import json
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any


def main() -> None:
    from mem0 import Memory

    task = json.load(sys.stdin)
    embedder = {"model": "bundled", "api_key": "none", "openai_base_url": task["endpoint"]}
    config = {
        "vector_store": {
            "provider": "pgvector",
            "config": {
                "connection_string": task["database"],
                "collection_name": task["collection"],
                "embedding_model_dims": task["dimension"],
            },
        },
        "embedder": {"provider": "openai", "config": embedder},
        "llm": {"provider": "openai", "config": {"api_key": "none", "openai_base_url": task["endpoint"]}},
        "history_db_path": f"{tempfile.mkdtemp()}/history.db",
    }
    memory = Memory.from_config(config)
    memory.search("warm up", filters={"user_id": "nobody"})
    ids = {}
    begun = time.perf_counter()
    for document, scope, text in task["documents"]:
        answer_to_add = memory.add(text, user_id=scope, infer=False)
        ids.update({row["id"]: document for row in answer_to_add["results"]})
    seconds = time.perf_counter() - begun
    searches, results = [], []
    for scope, text in task["questions"]:
        begun = time.perf_counter()
        answer = memory.search(text, filters={"user_id": scope}, top_k=task["top"])
        searches.append((time.perf_counter() - begun) * 1000)
        results.append([ids[row["id"]] for row in answer["results"] if row["id"] in ids])
    figures = {"seconds": seconds, "searches": searches, "found": results, "version": version("mem0ai")}
    figures["turns"] = [turns(memory, task["turns"], bots) for bots in task["bots"]]
    print(json.dumps(figures | {"has_model": find_spec("en_core_web_sm") is not None}))


def turns(memory: Any, exchanges: list[list[str]], bots: int) -> float:
    """Turns a second: so many bots at once, each in a chat of its own, one turn after the other."""

    def talk(bot: int) -> None:
        for user, assistant in exchanges[bot::bots]:
            messages = [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}]
            memory.add(messages, user_id=f"bot{bots}-{bot}", infer=False)

    begun = time.perf_counter()
    with ThreadPoolExecutor(bots) as pool:
        list(pool.map(talk, range(bots)))
    return len(exchanges) / (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
