#!/usr/bin/env python3
"""Turns published facts about providers, models and free tiers into the three files of this folder.

    python3 import.py FOLDER_WITH_FACTS [OUT]

Same input, same bytes. Every correction is a row of the tables below with its reason, and is listed in
`import-report.txt`; a correction that no longer applies is an error, so that none outlives its cause.
"""

import decimal
import json
import pathlib
import re
import sys

# Wire ids are ours; the facts spell one differently.
WIRES = {"cohere-v2": "cohere"}

# (provider, field): (value in the facts, value here, reason)
FIXES = {
    ("soniox", "base_url"): ("https:/", None, "cut off in the facts"),
    ("command-code", "base_url"): (
        "https://api.commandcode.ai",
        "https://api.commandcode.ai/provider/v1",
        "its model list is served under /provider/v1",
    ),
    ("regolo", "base_url"): ("https://api.regolo.ai", "https://api.regolo.ai/v1", "the vendor documents /v1/chat/completions"),
    ("free-ai", "base_url"): (
        "https://api.free.ai/v1/chat",
        "https://api.free.ai/v1",
        "the path had lost only its last part; its model list is served under /v1",
    ),
    ("vertex-partner", "wire"): (
        "gemini",
        "openai-chat",
        "partner models are served on the OpenAI-compatible endpoint, Claude on rawPredict, none as generateContent",
    ),
    ("vertex-partner", "alt_wires"): (
        ["anthropic-messages", "openai-chat"],
        ["anthropic-messages"],
        "openai-chat became the main wire",
    ),
}
MODEL_NAMES = {("anthropic", "claude-sonnet-4-5"): ("Claude Sonnet 4.6", "Claude Sonnet 4.5")}

# Settings, not keys, among the environment variables of a row.
SETTINGS = {
    "CLOUDFLARE_ACCOUNT_ID": "account_id",
    "DATABRICKS_HOST": "base_url",
    "LM_STUDIO_API_BASE": "base_url",
    "OLLAMA_HOST": "base_url",
    "VLLM_API_BASE": "base_url",
    "GOOGLE_APPLICATION_CREDENTIALS": "credentials_file",
    "AICORE_SERVICE_KEY": "service_key",
    "GIGACHAT_CREDENTIALS": "client_credentials",
    "GITLAB_DUO_OAUTH_CLIENT_ID": "client_id",
    "GITLAB_DUO_OAUTH_CLIENT_SECRET": "client_secret",
}

X_API_KEY = {"kind": "header", "header": "x-api-key"}
BEARER = {"kind": "bearer"}
ROOT = {"base_url": None}  # spoken, but where is not documented: listed, not built
SAME = {}  # same base address and key as the row, path of the wire

# Where a provider serves its second wires, from its own documentation.
ALT = {
    ("agentrouter", "openai-chat"): {"auth": BEARER},
    ("agentrouter", "openai-responses"): {"auth": BEARER},
    ("ant-ling", "anthropic-messages"): ROOT,
    ("anthropic", "openai-chat"): {"auth": BEARER},
    ("azure-ai", "openai-responses"): SAME,
    ("azure-ai", "anthropic-messages"): {"base_url": "https://{resource}.services.ai.azure.com/anthropic/v1", "auth": X_API_KEY},
    ("azure-openai", "openai-responses"): SAME,
    ("bedrock", "anthropic-messages"): ROOT,
    ("bedrock", "openai-chat"): {"base_url": "https://bedrock-runtime.{region}.amazonaws.com/openai/v1", "auth": BEARER},
    ("cheaperinference", "openai-responses"): SAME,
    ("cohere", "openai-chat"): {"base_url": "https://api.cohere.com/compatibility/v1"},
    ("deepseek", "anthropic-messages"): {"base_url": "https://api.deepseek.com/anthropic/v1", "auth": X_API_KEY},
    ("gemini", "openai-chat"): {"base_url": "https://generativelanguage.googleapis.com/v1beta/openai", "auth": BEARER},
    ("ghe-copilot", "openai-responses"): SAME,
    ("github", "openai-responses"): SAME,
    ("github", "anthropic-messages"): {"base_url": "https://api.githubcopilot.com/v1"},
    ("glm", "anthropic-messages"): {"base_url": "https://api.z.ai/api/anthropic/v1", "auth": X_API_KEY},
    ("groq", "openai-responses"): SAME,
    ("helixmind", "openai-responses"): SAME,
    ("helixmind", "anthropic-messages"): SAME,
    ("llama-cpp", "anthropic-messages"): SAME,
    ("llama-cpp", "openai-responses"): SAME,
    ("lm-studio", "openai-responses"): SAME,
    ("lm-studio", "anthropic-messages"): SAME,
    ("minimax", "anthropic-messages"): {"base_url": "https://api.minimax.io/anthropic/v1", "auth": X_API_KEY},
    ("moonshot", "anthropic-messages"): {"base_url": "https://api.moonshot.ai/anthropic/v1"},
    ("nanogpt", "openai-responses"): SAME,
    ("ollama-cloud", "ollama"): {"base_url": "https://ollama.com"},
    ("ollama-local", "ollama"): {"base_url": "http://localhost:11434"},
    ("openai", "openai-responses"): SAME,
    ("openference", "openai-responses"): SAME,
    ("openference-api", "openai-responses"): SAME,
    ("openrouter", "openai-responses"): SAME,
    ("openrouter", "anthropic-messages"): SAME,
    ("poe", "openai-responses"): SAME,
    ("poe", "anthropic-messages"): {"auth": X_API_KEY},
    ("vertex-partner", "anthropic-messages"): SAME,
    ("vllm", "openai-responses"): SAME,
    ("void-ai", "openai-responses"): SAME,
    ("xai", "openai-responses"): SAME,
    ("xai-oauth", "openai-responses"): ROOT,
    ("xiaomi-mimo", "anthropic-messages"): {"base_url": "https://api.xiaomimimo.com/anthropic/v1"},
    ("xiaomi-mimo-token-plan", "anthropic-messages"): {"base_url": "https://token-plan-sgp.xiaomimimo.com/anthropic/v1"},
}
# Wires that only the models of a provider name: without them those models could not be reached.
ALT_OF_MODELS = {
    ("blackbox", "openai-responses"): SAME,
    ("command-code", "openai-responses"): SAME,
    ("databricks", "openai-responses"): SAME,
    ("freeaiapikey", "openai-responses"): SAME,
    ("freemodel-dev", "openai-responses"): SAME,
    ("gitlawb-gmi", "anthropic-messages"): SAME,
    ("gitlawb-gmi", "openai-responses"): SAME,
    ("opencode-go", "anthropic-messages"): {"auth": X_API_KEY},
    ("opencode-zen", "anthropic-messages"): {"auth": X_API_KEY},
    ("opencode-zen", "openai-responses"): SAME,
    ("perplexity", "openai-responses"): {"base_url": "https://api.perplexity.ai/v1"},
}
LISTED_ONLY = {"gitlab-duo": "code suggestions have an interface of their own"}

DATE = re.compile(r"^\d{4}-\d{2}-\d{2}$")


class Report:
    """What was changed, for people."""

    def __init__(self):
        self.lines = []

    def say(self, what, where, why):
        self.lines.append(f"{what}\t{where}\t{why}")

    def text(self):
        return "".join(f"{line}\n" for line in sorted(self.lines))


def pico(usd_per_million):
    """USD for a million tokens as whole 1e-12 USD for one token."""
    exact = decimal.Decimal(usd_per_million) * 1_000_000
    whole = int(exact)
    if whole != exact:
        raise SystemExit(f"price {usd_per_million}: finer than 1e-12 USD a token")
    return whole


def provider(row, report):
    row = dict(row)
    for (ident, field), (old, new, why) in FIXES.items():
        if ident == row["id"]:
            if row.get(field) != old:
                raise SystemExit(f"{ident}: correction of {field} no longer applies: {row.get(field)!r}")
            row[field] = new
            report.say("provider corrected", f"{ident}.{field}", f"{old} -> {new}: {why}")
    if row["wire"] in WIRES:
        report.say("wire renamed", row["id"], f"{row['wire']} -> {WIRES[row['wire']]}")
        row["wire"] = WIRES[row["wire"]]
    alts = []
    for wire in row.pop("alt_wires", []):
        wire = WIRES.get(wire, wire)
        alt = ALT.get((row["id"], wire))
        if alt is None:
            raise SystemExit(f"{row['id']}: no entry in ALT for {wire}")
        alts.append({"wire": wire, **alt})
        if alt is ROOT:
            report.say("second wire without address", f"{row['id']} {wire}", "listed, not built")
    for (ident, wire), alt in ALT_OF_MODELS.items():
        if ident == row["id"]:
            alts.append({"wire": wire, **alt})
            report.say("second wire added", f"{ident} {wire}", "its models name it")
    settings = {}
    env = []
    for name in row.pop("env", []):
        if name in SETTINGS:
            settings[SETTINGS[name]] = name
            report.say("variable is a setting, not a key", f"{row['id']} {name}", SETTINGS[name])
        else:
            env.append(name)
    if row["id"] in LISTED_ONLY:
        row["listed_only"] = LISTED_ONLY[row["id"]]
        report.say("listed only", row["id"], LISTED_ONLY[row["id"]])
    out = {}
    for key, value in row.items():
        out[key] = value
        if key == "wire" and alts:
            out["alt"] = alts
        if key == "auth":
            if env:
                out["env"] = env
            if settings:
                out["env_settings"] = settings
    return out


def price(row, report):
    where = f"{row['provider']}/{row['id']}"

    def part(prices, place):
        out = {key: pico(value) for key, value in prices.items() if key not in ("over", "tokens")}
        charged = any(out.get(key) for key in ("in", "out"))
        for key in [key for key, value in out.items() if value == 0 and charged]:
            # A zero beside a charged main price says "not listed apart": it would make tokens free that are not.
            del out[key]
            report.say("zero price beside a charged one dropped", f"{place} {key}", "unknown, never zero")
        return out

    out = part(row["price"], where)
    if row["price"].get("over"):
        tiers = sorted(row["price"]["over"], key=lambda tier: tier["tokens"])
        out["over"] = [{"tokens": int(t["tokens"]), **part(t, f"{where} over {int(t['tokens'])}")} for t in tiers]
    return out


def model(row, report):
    row = dict(row)
    key = (row["provider"], row["id"])
    if key in MODEL_NAMES:
        old, new = MODEL_NAMES[key]
        if row["name"] != old:
            raise SystemExit(f"{key}: correction of the name no longer applies")
        row["name"] = new
        report.say("model name corrected", "/".join(key), f"{old} -> {new}")
    if row["provider"] == "vertex-partner" and row["id"].startswith("claude-"):
        row["wire"] = "anthropic-messages"
        report.say("model wire set", "/".join(key), "anthropic-messages")
    if "wire" in row:
        row["wire"] = WIRES.get(row["wire"], row["wire"])
    for field in ("context_window", "max_input", "max_output", "cache_min"):
        if field in row:
            whole = int(row[field])
            if whole != row[field]:
                raise SystemExit(f"{key}: {field} is not whole: {row[field]}")
            row[field] = whole
    if "price" in row:
        row["price"] = price(row, report)
    return row


def write(path, head, lists):
    """One row a line, so that a change of a row is a change of a line."""
    def line(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=float)

    parts = [f'"{key}":{line(value)}' for key, value in head.items()]
    parts += [f'"{key}":[\n' + ",\n".join(line(row) for row in rows) + "\n]" for key, rows in lists.items()]
    path.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    source = pathlib.Path(sys.argv[1])
    target = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else pathlib.Path(__file__).parent
    report = Report()

    def facts(name):
        return json.loads((source / name).read_text(encoding="utf-8"), parse_float=decimal.Decimal)

    given = facts("providers.json")
    providers = sorted((provider(row, report) for row in given["providers"]), key=lambda row: row["id"])
    meta = {"schema": 1, "as_of": given["meta"]["as_of"]}
    write(target / "providers.json", {"meta": meta}, {"providers": providers})

    given = facts("models.json")
    models = sorted((model(row, report) for row in given["models"]), key=lambda row: (row["provider"], row["id"]))
    known = {f"{row['provider']}/{row['id']}" for row in models}
    aliases = {}
    for alias, goal in sorted(given["aliases"].items()):
        if goal in known:
            aliases[alias] = goal
        else:
            report.say("alias dropped", alias, f"no row {goal}")
    meta = {"schema": 1, "as_of": given["meta"]["as_of"], "price_unit": "1e-12 USD a token"}
    write(target / "models.json", {"meta": meta, "aliases": aliases}, {"models": models})

    given = facts("free_tiers.json")
    pools = sorted(given["pools"], key=lambda row: row["pool"])
    entries = sorted(given["entries"], key=lambda row: (row["provider"], row["model"]))
    dates = list(given["meta"]["snapshots"])
    if not all(DATE.match(date) for date in dates):
        raise SystemExit(f"snapshots are not dates: {dates}")
    write(target / "free_tiers.json", {"meta": given["meta"]}, {"pools": pools, "entries": entries})

    (target / "import-report.txt").write_text(report.text(), encoding="utf-8")


if __name__ == "__main__":
    main()
