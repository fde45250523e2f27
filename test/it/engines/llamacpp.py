#!/usr/bin/env python3
"""A llama.cpp server on CPU with a tiny model of random weights.

    llamacpp.py model FILE              writes the model
    llamacpp.py serve FILE PORT SLOTS   serves it until the process ends

Needs the packages of requirements.txt. The server is llama.cpp's own (`llama-server`), linked into a Python module.
"""
import signal
import sys

CONTEXT = 16384  # tokens of one request
WORDS = 256  # one token for each byte
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def letters():
    """The printable character of each byte, as tokenizers of the GPT-2 family name them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(WORDS) if b not in plain]
    names = {**{b: chr(b) for b in plain}, **{b: chr(WORDS + i) for i, b in enumerate(others)}}
    return [names[b] for b in range(WORDS)]


def write(file):
    import gguf
    import numpy

    size, heads, hidden, layers = 128, 4, 256, 4
    random = numpy.random.default_rng(1)

    def weights(*shape):
        return random.normal(0, 0.2, shape).astype(numpy.float32)

    model = gguf.GGUFWriter(file, "llama")
    model.add_name("tiny")
    model.add_context_length(CONTEXT)
    model.add_embedding_length(size)
    model.add_block_count(layers)
    model.add_feed_forward_length(hidden)
    model.add_head_count(heads)
    model.add_head_count_kv(heads)
    model.add_rope_dimension_count(size // heads)
    model.add_layer_norm_rms_eps(1e-6)
    model.add_vocab_size(WORDS + len(CONTROL))
    model.add_file_type(gguf.LlamaFileType.ALL_F32)
    model.add_tokenizer_model("gpt2")
    model.add_tokenizer_pre("gpt-2")
    model.add_token_list(letters() + CONTROL)
    model.add_token_types([gguf.TokenType.NORMAL] * WORDS + [gguf.TokenType.CONTROL] * len(CONTROL))
    model.add_token_merges(["a b"])  # a merge whose token does not exist: the list may not be empty
    model.add_bos_token_id(WORDS)
    model.add_eos_token_id(WORDS + 2)
    model.add_chat_template(TEMPLATE)
    model.add_tensor("token_embd.weight", weights(WORDS + len(CONTROL), size))
    output = weights(WORDS + len(CONTROL), size)
    output[WORDS:] = 0  # no answer ends by itself
    output[128:WORDS] = 0  # answers are ASCII
    model.add_tensor("output.weight", output)
    model.add_tensor("output_norm.weight", numpy.ones(size, numpy.float32))
    for layer in range(layers):
        for name, shape in {
            "attn_q": (size, size), "attn_k": (size, size), "attn_v": (size, size), "attn_output": (size, size),
            "ffn_gate": (hidden, size), "ffn_up": (hidden, size), "ffn_down": (size, hidden)}.items():
            model.add_tensor(f"blk.{layer}.{name}.weight", weights(*shape))
        for name in "attn_norm", "ffn_norm":
            model.add_tensor(f"blk.{layer}.{name}.weight", numpy.ones(size, numpy.float32))
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


def serve(file, port, slots):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = file
    params.model_alias = {"tiny", "small"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = slots
    params.n_ctx = CONTEXT * slots
    params.endpoint_metrics = True
    params.endpoint_slots = True
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(f"llama.cpp {xllamacpp.__version__} listens on {server.listening_address}", flush=True)
    signal.pause()


if sys.argv[1] == "model":
    write(sys.argv[2])
else:
    serve(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
