"""What type checkers see; run as well."""

from omniroute import Compressed, CompressedText, Compressor, ConfigError, Messages, Receipt, RequestError, compress
from omniroute.types import CompressionConfig

config: CompressionConfig = {
    "plan": "tables",
    "combos": [{"name": "tables", "steps": ["rows", {"engine": "session-dedup", "config": {"min_lines": 4}}]}],
}
compressor: Compressor = Compressor(config)
out: Compressed = compressor.compress({"messages": [{"role": "user", "content": "hi"}]})
body: bytes = out.body
receipt: Receipt = out.receipt
ratio: float = out.saved_ratio
line: str = receipt.summary()
messages: Messages = compressor.compress_messages([{"role": "user", "content": "hi"}])
text: CompressedText = compressor.compress_text("printed", command="make")
calls: int = compressor.stats()["calls"]

try:
    Compressor({"plan": "saef"})
except ConfigError as wrong:
    mistakes: list[str] = list(wrong.errors)
    print(mistakes, wrong.code)
try:
    compress(b"{}", wire="soap")
except RequestError as error:
    code: str = error.code
    print(code, error)
