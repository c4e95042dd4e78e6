import omniroute as om

source = "".join(f"let total_{n} = price_{n} * quantity_{n};\n" for n in range(1, 81))
call = {"type": "function", "function": {"name": "read", "arguments": '{"path": "a.rs"}'}}
messages = [
    {"role": "assistant", "tool_calls": [call | {"id": "a"}]},
    {"role": "tool", "tool_call_id": "a", "content": source},
    {"role": "assistant", "tool_calls": [call | {"id": "b"}]},
    {"role": "tool", "tool_call_id": "b", "content": source},  # the same file again
]

sent = om.compress_messages(messages, model="gpt-5")
print(sent.receipt.summary())

printed = "".join(f"test store::case_{n} ... ok\n" for n in range(60))
printed = f"running 60 tests\n{printed}\ntest result: ok. 60 passed; 0 failed; finished in 0.1s\n"
print(om.compress_text(printed, command="cargo test", exit_code=0).receipt.summary())
